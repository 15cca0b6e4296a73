const YES = ['true', 'on', 'yes', '1'];
const NO = ['false', 'off', 'no', '0'];

/** Returns whether something is on, as written in settings and URLs; `null` if the text does not say. */
export function readFlag(text: string): boolean | null {
  const word = text.trim().toLowerCase();
  return YES.includes(word) || (NO.includes(word) ? false : null);
}
