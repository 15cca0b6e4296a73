/** Returns the word for a code from a record, or the code itself if there is none. */
export function wordFor(words: Readonly<Record<string, string>>, code: string): string {
  return words[code] ?? code;
}
