/** Maximum length of a name, in code points. */
const MAX_LENGTH = 255;

/** Control characters, and those that change the direction of text, which can disguise a name. */
const UNSAFE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Cleans a line of text that a person typed: well-formed Unicode, without control characters and surrounding spaces.
 * It still has to be escaped wherever it is shown.
 */
export function cleanText(raw: string): string {
  return raw.toWellFormed().replace(UNSAFE, '').trim();
}

/** Returns the beginning of a longer text, in UTF-16 units, without a half of a character. */
export function cutText(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, most).replace(/[\ud800-\udbff]$/, '');
}

/**
 * Returns the name to store for an uploaded file: the last part of a path of either style, without control
 * characters, as well-formed Unicode of at most 255 code points (the extension stays), or `null` if nothing is left.
 * The result is plain text that still has to be escaped wherever it is shown.
 */
export function cleanFilename(raw: string): string | null {
  const last = raw.split(/[/\\]/).at(-1) ?? '';
  const name = cleanText(last);
  // curl calls standard input `-`.
  if (['', '.', '..', '-'].includes(name)) return null;
  return shortened(name);
}

/** Returns a title or an alternative text to store, as clean and as long as a name; `null` if nothing is left. */
export function cleanCaption(raw: string): string | null {
  return shortened(cleanText(raw)) || null;
}

function shortened(name: string): string {
  const points = [...name];
  if (points.length <= MAX_LENGTH) return name;
  const extension = [...(/\.[^.\s]{1,16}$/u.exec(name)?.[0] ?? '')];
  return [...points.slice(0, MAX_LENGTH - extension.length), ...extension].join('');
}
