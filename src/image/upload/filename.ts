/** Longest name that is kept, in code points. */
const MAX_LENGTH = 255;

/** Control characters, and those that turn the direction of text, by which a name can look like another. */
const UNSAFE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Text of a person on one line: well-formed, without control characters and spaces around it. Still to be escaped wherever it is shown. */
export function cleanText(raw: string): string {
  return raw.toWellFormed().replace(UNSAFE, '').trim();
}

/**
 * An uploaded file's name as it is remembered: the last part of a path of either style, without control characters, well-formed
 * Unicode, 255 code points at most (the extension stays). `null` if nothing is left. The result is plain text,
 * still to be escaped wherever it is shown.
 */
export function cleanFilename(raw: string): string | null {
  const last = raw.split(/[/\\]/).at(-1) ?? '';
  const name = cleanText(last);
  if (name === '' || name === '.' || name === '..') return null;
  const points = [...name];
  if (points.length <= MAX_LENGTH) return name;
  const extension = [...(/\.[^.\s]{1,16}$/u.exec(name)?.[0] ?? '')];
  return [...points.slice(0, MAX_LENGTH - extension.length), ...extension].join('');
}
