import { acceptedIn } from '../../lib/accepted.ts';
import * as en from './en.ts';
import type { Words } from './words.ts';
import * as zhCn from './zh-cn.ts';

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

export function isLanguage(text: string | undefined): text is Language {
  return text !== undefined && Object.hasOwn(LANGUAGES, text);
}

/**
 * Returns the visitor's preferred language, by the header `Accept-Language`. Another region or script is better than
 * another language.
 */
export function preferredLanguage(header: string | null): Language {
  const primaryOf = (range: string) => range.toLowerCase().split('-')[0];
  for (const range of acceptedIn(header)) {
    const found = LANGUAGE_TAGS.find((tag) => primaryOf(tag) === primaryOf(range));
    if (found) return found;
  }
  return DEFAULT;
}
