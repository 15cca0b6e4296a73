/** What a group of words says about a code that comes from records; the code itself where it says nothing. */
export function wordFor(words: Readonly<Record<string, string>>, code: string): string {
  return words[code] ?? code;
}
