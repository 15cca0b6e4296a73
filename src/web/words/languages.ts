import { en, type Words } from './en.ts';
import { zhCn } from './zh-cn.ts';

/**
 * The languages of the pages, by tag (BCP 47), with their own names. The first is for visitors who ask for none of
 * them.
 */
export const LANGUAGES = {
  en: { name: 'English', words: en },
  'zh-CN': { name: '简体中文', words: zhCn },
} satisfies Record<string, { name: string; words: Words }>;

export type Language = keyof typeof LANGUAGES;

export const LANGUAGE_TAGS = Object.keys(LANGUAGES) as Language[];
const DEFAULT: Language = 'en';
/** Longer than any browser sends. */
const MAX_HEADER_LENGTH = 1000;

export function isLanguage(text: string | undefined): text is Language {
  return text !== undefined && Object.hasOwn(LANGUAGES, text);
}

/**
 * Returns the visitor's preferred language, by the header `Accept-Language`. Another region or script is better than
 * another language.
 */
export function preferredLanguage(header: string | null): Language {
  if (header === null || header.length > MAX_HEADER_LENGTH) return DEFAULT;
  const ranges = header.split(',').map((part) => {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    return { range, quality: quality === undefined ? 1 : Number(quality) || 0 };
  });
  const wanted = ranges
    .filter(({ quality }) => quality > 0)
    .sort((one, other) => other.quality - one.quality);
  for (const { range } of wanted) {
    const primary = range.split('-')[0];
    const found = LANGUAGE_TAGS.find((tag) => tag.toLowerCase().split('-')[0] === primary);
    if (found) return found;
  }
  return DEFAULT;
}
