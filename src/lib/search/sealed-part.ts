import { Buffer } from 'node:buffer';
import { foldText } from '../fold-text.ts';
import { GRAM, PADDING } from './gram-lists.ts';
import { createGrams } from './grams.ts';
import { type Entry, FIELD_END, type Part, type Placed, placeOf, toPattern } from './part.ts';
import { createShortCounts } from './short-counts.ts';

/** Most documents of a part: making it takes about 40 ms at a stretch. More and smaller parts take more memory. */
export const MAX_DOCUMENTS = 2 ** 14;

/** A bit for each document that one search finds, used by all parts. */
const marks = new Uint32Array(MAX_DOCUMENTS / 32);

/** A part from which documents can only be removed. */
export interface SealedPart extends Part {
  /** Documents that are there. */
  size(): number;
  /** Documents that were removed. */
  removed(): number;
  ends(): { newest: Placed; oldest: Placed };
}

/** A part of at most `MAX_DOCUMENTS`, the last of the order first. */
export function createSealedPart(documents: readonly Entry[]): SealedPart {
  const bytes = join(documents);
  const starts = startsOf(documents.map(({ text }) => Buffer.byteLength(text)));
  const ids = documents.map(({ id }) => id).join('');
  const idStarts = startsOf(documents.map(({ id }) => id.length));
  const times = Float64Array.from(documents, ({ createdAt }) => createdAt);
  const texts = { bytes, starts, ...rankBytes(bytes) };
  const grams = createGrams(texts);
  const shortCounts = createShortCounts(texts);
  const removed = new Uint32Array(Math.ceil(documents.length / 32));
  const { length } = documents;
  let size = length;

  const idOf = (document: number) => ids.slice(idStarts[document], idStarts[document + 1]);
  const placed = (document: number): Placed => ({ id: idOf(document), createdAt: times[document] ?? 0 });
  const ends = { newest: placed(length - 1), oldest: placed(0) };
  const textOf = (document: number) =>
    Buffer.from(
      bytes.buffer,
      starts[document],
      (starts[document + 1] ?? 0) - (starts[document] ?? 0),
    ).toString();

  /** Marks the documents that contain the pattern; answers how many there are. */
  function mark(pattern: Uint8Array): number {
    marks.fill(0);
    grams.mark(pattern, marks);
    let total = 0;
    for (let word = 0; word < removed.length; word++) {
      const left = (marks[word] ?? 0) & ~(removed[word] ?? 0);
      marks[word] = left;
      total += bitsIn(left);
    }
    return total;
  }

  /** The marked documents, the last first. */
  function* marked(): Iterable<number> {
    for (let word = removed.length - 1; word >= 0; word--) {
      for (let bits = marks[word] ?? 0; bits !== 0; ) {
        const top = 31 - Math.clz32(bits);
        bits ^= 1 << top;
        yield word * 32 + top;
      }
    }
  }

  const isRemoved = (document: number) => ((removed[document >>> 5] ?? 0) & (1 << (document & 31))) !== 0;

  return {
    size: () => size,
    removed: () => length - size,
    ends: () => ends,
    has(document) {
      const place = placeOf(document, length, placed);
      return place < length && idOf(place) === document.id && !isRemoved(place);
    },
    count: ({ bytes: pattern }) => (pattern.length < GRAM ? shortCounts.of(pattern) : mark(pattern)),
    find({ bytes: pattern }, most) {
      const total = mark(pattern);
      const first: Placed[] = [];
      if (total > 0 && most > 0) {
        for (const document of marked()) if (first.push(placed(document)) === most) break;
      }
      return { first, total };
    },
    remove(id) {
      if (mark(toPattern(foldText(id) + FIELD_END).bytes) === 0) return null;
      for (const document of marked()) {
        if (idOf(document) !== id) continue;
        removed[document >>> 5] = (removed[document >>> 5] ?? 0) | (1 << (document & 31));
        shortCounts.remove(document);
        size--;
        return textOf(document);
      }
      return null;
    },
    entries() {
      const all = Array.from({ length }, (_, document) => document);
      return all
        .filter((document) => !isRemoved(document))
        .map((document) => ({ ...placed(document), text: textOf(document) }));
    },
  };
}

/** The texts one after the other, and bytes of no document for the grams at the end. */
function join(documents: readonly Entry[]): Uint8Array {
  const text = documents.map(({ text }) => text).join('') + FIELD_END.repeat(PADDING);
  const bytes = new Uint8Array(Buffer.byteLength(text));
  Buffer.from(bytes.buffer).write(text);
  return bytes;
}

/** Where each of some lengths begins when they stand one after the other, and where the last ends. */
function startsOf(lengths: readonly number[]): Uint32Array {
  const starts = new Uint32Array(lengths.length + 1);
  for (let index = 0; index < lengths.length; index++) {
    starts[index + 1] = (starts[index] ?? 0) + (lengths[index] ?? 0);
  }
  return starts;
}

/** Numbers the bytes that occur, see `Texts`. */
function rankBytes(bytes: Uint8Array): { ranks: Uint8Array; symbols: number } {
  const ranks = new Uint8Array(256);
  for (let at = 0; at < bytes.length; at++) ranks[bytes[at] ?? 0] = 1;
  let symbols = 1;
  for (const [byte, occurs] of ranks.entries()) if (occurs) ranks[byte] = symbols++;
  return { ranks, symbols };
}

function bitsIn(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
