import { isLanguage, type Language, preferredLanguage } from './words/languages.ts';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

/** A visitor's preferences for pages. */
export interface Preferences {
  language: Language;
  theme: Theme;
}

const COOKIES = {
  language: 'picpool_language',
  theme: 'picpool_theme',
  audience: 'picpool_audience',
} as const;
const AUDIENCE = /^[a-z]{1,20}$/;
const YEAR_S = 365 * 86_400;

/** Headers that pages depend on. */
export const PREFERENCES_VARY = 'Accept-Language, Cookie';

/** Returns what the visitor has chosen, or what the browser asks for. */
export function preferencesOf({ headers }: Request): Preferences {
  const cookies = headers.get('cookie');
  const language = cookieIn(cookies, COOKIES.language);
  const theme = cookieIn(cookies, COOKIES.theme);
  return {
    language: isLanguage(language) ? language : preferredLanguage(headers.get('accept-language')),
    theme: isTheme(theme) ? theme : 'system',
  };
}

/** Returns who sees what this visitor uploads on a page, as the form has named it; `undefined`: nothing was chosen. */
export function keptAudience({ headers }: Request): string | undefined {
  return cookieIn(headers.get('cookie'), COOKIES.audience);
}

/** Returns the cookies for the choices of a form. Anything that it does not name stays unchanged. */
export function preferenceCookies(form: URLSearchParams, path: string, secure: boolean): string[] {
  const language = form.get('language') ?? undefined;
  const theme = form.get('theme') ?? undefined;
  const audience = form.get('audience') ?? '';
  const kept = (name: string, value: string) =>
    `${name}=${value}; Path=${path}/; Max-Age=${YEAR_S}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
  return [
    ...(isLanguage(language) ? [kept(COOKIES.language, language)] : []),
    ...(isTheme(theme) ? [kept(COOKIES.theme, theme)] : []),
    ...(AUDIENCE.test(audience) ? [kept(COOKIES.audience, audience)] : []),
  ];
}

function isTheme(text: string | undefined): text is Theme {
  return THEMES.some((theme) => theme === text);
}

function cookieIn(header: string | null, name: string): string | undefined {
  const pairs = header?.split(';').map((pair) => pair.trim().split('=')) ?? [];
  return pairs.find(([known]) => known === name)?.[1];
}
