/** The known word that was probably meant: the only one that begins so, or the closest that is spelled alike. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const longer = word.length < 3 ? [] : known.filter((one) => one.startsWith(word));
  return longer.length === 1 ? longer[0] : misspelt(word, known);
}

/** The known word of which this one is a misspelling: of six letters and more two may differ, of four and five one. */
export function misspelt(word: string, known: readonly string[]): string | undefined {
  const most = word.length < 4 ? 0 : word.length < 6 ? 1 : 2;
  const [closest] = known
    .map((one) => ({ one, changes: distance(word, one) }))
    .filter(({ changes }) => changes <= most)
    .sort((a, b) => a.changes - b.changes);
  return closest?.one;
}

/** Levenshtein's distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const swapped = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(swapped, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
