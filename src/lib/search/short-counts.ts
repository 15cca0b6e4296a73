import type { Texts } from './gram-lists.ts';

/** In how many documents each sequence of one or two bytes stands. */
export interface ShortCounts {
  of(pattern: Uint8Array): number;
  /** Takes a document out of the numbers. */
  remove(document: number): void;
}

export function createShortCounts({ bytes, starts, ranks, symbols }: Texts): ShortCounts {
  const counts = new Uint16Array(symbols + symbols * symbols);
  const rank = (byte: number | undefined) => (byte === undefined ? 0 : (ranks[byte] ?? 0));
  const pair = (first: number, second: number) => symbols + first * symbols + second;

  function add(document: number, delta: 1 | -1, seenIn: Int32Array): void {
    const end = starts[document + 1] ?? 0;
    let next = rank(bytes[starts[document] ?? 0]);
    for (let at = starts[document] ?? 0; at < end; at++) {
      const first = next;
      next = rank(bytes[at + 1]);
      const second = pair(first, next);
      if (seenIn[first] !== document) counts[first] = (counts[first] ?? 0) + delta;
      if (seenIn[second] !== document) counts[second] = (counts[second] ?? 0) + delta;
      seenIn[first] = document;
      seenIn[second] = document;
    }
  }

  const seenIn = new Int32Array(counts.length).fill(-1);
  for (let document = 0; document + 1 < starts.length; document++) add(document, 1, seenIn);

  return {
    of([first, second]) {
      return counts[second === undefined ? rank(first) : pair(rank(first), rank(second))] ?? 0;
    },
    remove: (document) => add(document, -1, new Int32Array(counts.length).fill(-1)),
  };
}
