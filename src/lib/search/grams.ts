import { createGramLists, GRAM, type Texts, WHERE_BITS } from './gram-lists.ts';

/** Finds the texts that contain a pattern, by the sequences of three bytes (grams) in both. */
export interface Grams {
  /** Sets the bits of the texts that contain the pattern. */
  mark(pattern: Uint8Array, marks: Uint32Array): void;
}

/**
 * To read so many bytes of a list takes less time than to look into a text: lists are read from one end to the other,
 * but each look into a text waits for the memory.
 */
const BYTES_PER_LOOK = 10;

/** Room for the places of two grams. */
let found = new Uint32Array(0);
let others = new Uint32Array(0);

export function createGrams(texts: Texts): Grams {
  const { bytes, starts, ranks, symbols } = texts;
  const lists = createGramLists(texts);
  if (found.length < bytes.length) {
    [found, others] = [new Uint32Array(bytes.length), new Uint32Array(bytes.length)];
  }

  /** The number of the gram; of the first possible one where the pattern ends before it. */
  function codeIn(pattern: Uint8Array, at: number): number {
    let code = 0;
    for (let index = at; index < at + GRAM; index++) {
      code = code * symbols + (index < pattern.length ? (ranks[pattern[index] ?? 0] ?? 0) : 0);
    }
    return code;
  }

  function markShort(pattern: Uint8Array, marks: Uint32Array): void {
    const code = codeIn(pattern, 0);
    const end = firstFrom(lists.codes, code + symbols ** (GRAM - pattern.length));
    for (let list = firstFrom(lists.codes, code); list < end; list++)
      markTexts(lists.read(list, 0, found), marks);
  }

  /** The grams of a pattern; none where one of them does not occur. */
  function gramsOf(pattern: Uint8Array): { list: number; at: number; size: number }[] {
    const grams: { list: number; at: number; size: number }[] = [];
    for (let at = 0; at + GRAM <= pattern.length; at++) {
      const code = codeIn(pattern, at);
      const list = firstFrom(lists.codes, code);
      if (lists.codes[list] !== code) return [];
      grams.push({ list, at, size: lists.bytesOf(list) });
    }
    return grams;
  }

  return {
    mark(pattern, marks) {
      if (pattern.some((byte) => ranks[byte] === 0)) return;
      if (pattern.length < GRAM) return markShort(pattern, marks);
      const grams = gramsOf(pattern);
      const [first, ...rest] = grams;
      if (!first) return;
      const rarest = rest.reduce((least, gram) => (gram.size < least.size ? gram : least), first);
      let count = lists.read(rarest.list, rarest.at, found);
      const needed = grams.filter(({ at }) => at !== rarest.at && isNeeded(at, rarest.at, pattern.length));
      for (const { list, at, size } of needed.sort((a, b) => a.size - b.size)) {
        if (size > count * BYTES_PER_LOOK) {
          count = lookUp(pattern, count, bytes, starts);
          break;
        }
        count = keepCommon(count, lists.read(list, at, others));
      }
      markTexts(count, marks);
    },
  };
}

/** True of as few grams as cover the pattern together with the rarest one. */
function isNeeded(at: number, rarest: number, length: number): boolean {
  if (at === 0 || at === length - GRAM) return true;
  return (at - rarest) % GRAM === 0;
}

function firstFrom(codes: Uint32Array, code: number): number {
  let [low, high] = [0, codes.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((codes[middle] ?? 0) < code) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Keeps those of the found places that are among the others too; answers how many. */
function keepCommon(count: number, otherCount: number): number {
  let kept = 0;
  let other = 0;
  for (let index = 0; index < count; index++) {
    const place = found[index] ?? 0;
    while (other < otherCount && (others[other] ?? 0) < place) other++;
    if (other < otherCount && others[other] === place) found[kept++] = place;
  }
  return kept;
}

/** Keeps those of the found places where the pattern stands; answers how many. */
function lookUp(pattern: Uint8Array, count: number, bytes: Uint8Array, starts: Uint32Array): number {
  const { length } = pattern;
  let kept = 0;
  for (let index = 0; index < count; index++) {
    const place = found[index] ?? 0;
    const start = (starts[place >>> WHERE_BITS] ?? 0) + (place & (2 ** WHERE_BITS - 1));
    let same = 0;
    while (same < length && bytes[start + same] === pattern[same]) same++;
    if (same === length) found[kept++] = place;
  }
  return kept;
}

function markTexts(count: number, marks: Uint32Array): void {
  for (let index = 0; index < count; index++) {
    const text = (found[index] ?? 0) >>> WHERE_BITS;
    marks[text >>> 5] = (marks[text >>> 5] ?? 0) | (1 << (text & 31));
  }
}
