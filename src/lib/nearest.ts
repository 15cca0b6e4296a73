/** More changes than this make another word. */
const MOST_CHANGES = 2;

/** The known word that was probably meant: the only one that begins so, or at most two letters away. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const longer = word.length < 3 ? [] : known.filter((one) => one.startsWith(word));
  if (longer.length === 1) return longer[0];
  let best: string | undefined;
  let least = Math.min(MOST_CHANGES, Math.floor(word.length / 3)) + 1;
  for (const one of known) {
    const changes = distance(word, one);
    if (changes >= least) continue;
    least = changes;
    best = one;
  }
  return best;
}

/** The known word of which this one is a misspelling: of six letters and more two may differ, of four and five one. */
export function misspelt(word: string, known: readonly string[]): string | undefined {
  const most = word.length < 4 ? 0 : word.length < 6 ? 1 : 2;
  return known.find((one) => one !== word && distance(word, one) <= most);
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
