/** Returns the known word that was probably meant: the only one that begins with `word`, or the most similar one. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const longer = word.length < 3 ? [] : known.filter((one) => one.startsWith(word));
  return longer.length === 1 ? longer[0] : misspelt(word, known);
}

/**
 * Returns the known word that this one misspells: with six letters and more two may differ, with four and five one.
 */
export function misspelt(word: string, known: readonly string[]): string | undefined {
  const most = word.length < 4 ? 0 : word.length < 6 ? 1 : 2;
  const [closest] = known
    // Comparing letters takes time for each, and strangers may send thousands.
    .filter((one) => Math.abs(one.length - word.length) <= most)
    .map((one) => ({ one, changes: distance(word, one) }))
    .filter(({ changes }) => changes <= most)
    .sort((a, b) => a.changes - b.changes);
  return closest?.one;
}

/** Counts the letters added, left out, replaced, or swapped with their neighbour (optimal string alignment). */
function distance(a: string, b: string): number {
  let last: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const replaced = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      const isSwap = i > 0 && j > 0 && a[i] === b[j - 1] && a[i - 1] === b[j];
      const swapped = isSwap ? (last[j - 1] ?? 0) + 1 : replaced;
      next.push(Math.min(replaced, swapped, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    [last, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
