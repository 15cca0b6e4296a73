/** Deeper than anything that this program reads. Nesting makes some work on a value grow with its square. */
const MOST_DEPTH = 16;
/** Far more than any JSON of this API needs. */
export const MAX_JSON_LENGTH = 64 * 1024;

interface ForeignJson {
  /** Maximum length of the text in characters. Default: 64 Ki. */
  maxLength?: number;
  /** How deep objects and arrays may be nested. Default: 16. */
  maxDepth?: number;
  /** How many members all objects may have together. Default: any number. */
  maxNames?: number;
}

/**
 * Parses JSON that somebody else wrote: the only way to do so in this program.
 * @throws {SyntaxError} if it is not JSON, too long or too deep, or has too many names.
 */
export function parseForeignJson(
  text: string,
  { maxLength = MAX_JSON_LENGTH, maxDepth = MOST_DEPTH, maxNames = Infinity }: ForeignJson = {},
): unknown {
  if (text.length > maxLength) throw new SyntaxError(`it is longer than ${maxLength} characters`);
  const fault = excessIn(text, maxDepth, maxNames);
  if (fault !== null) throw new SyntaxError(fault);
  return JSON.parse(text);
}

/** Returns the object that the text is as JSON, or `null`. */
export function foreignRecord(text: string, limits?: ForeignJson): Record<string, unknown> | null {
  try {
    const value = parseForeignJson(text, limits);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/** Reports whether a value of JSON is an object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Counts marks outside strings. In text that is not JSON the counts have no meaning, but that is refused anyway. */
function excessIn(text: string, maxDepth: number, maxNames: number): string | null {
  let depth = 0;
  let names = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        at = endOfString(text, at);
        if (at < 0) return null;
        break;
      case 0x5b:
      case 0x7b:
        if (++depth > maxDepth) return `it is nested more than ${maxDepth} levels deep`;
        break;
      case 0x3a:
        if (++names > maxNames) return `it has more than ${maxNames} names`;
        break;
      case 0x5d:
      case 0x7d:
        depth--;
    }
  }
  return null;
}

/** Returns the end of the string that begins at `from`, or -1 if the text ends before. */
export function endOfString(text: string, from: number): number {
  for (let quote = text.indexOf('"', from + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    if (escapeLength(text, quote) === 0) return quote;
  }
  return -1;
}

/** Returns 1 if a backslash before `end` escapes the next character, otherwise 0. */
export function escapeLength(text: string, end = text.length): number {
  let backslashes = 0;
  while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++;
  return backslashes % 2;
}
