import { isLanguage, type Language, preferredLanguage } from './words/languages.ts';

const COOKIES = {
  language: 'picpool_language',
  audience: 'picpool_audience',
} as const;
const AUDIENCE = /^[a-z]{1,20}$/;
const YEAR_S = 365 * 86_400;

/** Headers that pages depend on. */
export const PREFERENCES_VARY = 'Accept-Language, Cookie';

/** Returns the language that the visitor has chosen, or that the browser asks for. */
export function languageOf({ headers }: Request): Language {
  const chosen = cookieIn(headers.get('cookie'), COOKIES.language);
  return isLanguage(chosen) ? chosen : preferredLanguage(headers.get('accept-language'));
}

/** Returns who sees what this visitor uploads on a page, as the form has named it; `undefined`: nothing was chosen. */
export function keptAudience({ headers }: Request): string | undefined {
  return cookieIn(headers.get('cookie'), COOKIES.audience);
}

/** Returns the cookies for the choices of a form. Anything that it does not name stays unchanged. */
export function preferenceCookies(form: URLSearchParams, path: string, secure: boolean): string[] {
  const language = form.get('language') ?? undefined;
  const audience = form.get('audience') ?? '';
  const kept = (name: string, value: string) =>
    `${name}=${value}; Path=${path}/; Max-Age=${YEAR_S}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
  return [
    ...(isLanguage(language) ? [kept(COOKIES.language, language)] : []),
    ...(AUDIENCE.test(audience) ? [kept(COOKIES.audience, audience)] : []),
  ];
}

function cookieIn(header: string | null, name: string): string | undefined {
  const pairs = header?.split(';').map((pair) => pair.trim().split('=')) ?? [];
  return pairs.find(([known]) => known === name)?.[1];
}
