/** Texts one after the other in UTF-8, followed by `PADDING`. */
export interface Texts {
  bytes: Uint8Array;
  /** Where each text begins, and where the last ends. */
  starts: Uint32Array;
  /** Numbers from 1 for the bytes that occur, in their order; 0 for the others. */
  ranks: Uint8Array;
  /** More than any of those numbers. */
  symbols: number;
}

/** Bytes in a gram, and the bytes that must follow the last text. */
export const GRAM = 3;
export const PADDING = GRAM - 1;

/** The places of every sequence of three bytes that occurs. */
export interface GramLists {
  /** Numbers of the sequences, ascending: their bytes by rank as digits to the base `symbols`. */
  codes: Uint32Array;
  /** Size of a list, at least one byte for each place. */
  bytesOf(list: number): number;
  /** Writes the places `shift` bytes before those of a list into `into`, ascending; answers how many. */
  read(list: number, shift: number, into: Uint32Array): number;
}

/** A place in one number: in these bits where in its text, above them which text. No text is longer. */
export const WHERE_BITS = 17;

/**
 * In a list a place is a number: by how many texts it is further than the place before, and, in these bits, where in
 * its text it is. `FAR` stands for this and all beyond; then the next number says where. Numbers are stored in groups of
 * 7 bits, the highest first, the last one below 128: most places take two bytes.
 */
const NEAR_BITS = 7;
const FAR = 2 ** NEAR_BITS - 1;

/** Room for what is needed while lists are made: two numbers for each possible gram. */
let last = new Uint32Array(0);
let ends = new Uint32Array(0);

export function createGramLists(texts: Texts): GramLists {
  const all = texts.symbols ** GRAM;
  if (last.length < all) [last, ends] = [new Uint32Array(all), new Uint32Array(all)];
  last.fill(0);
  ends.fill(0);
  addUpSizes(texts);
  let used = 0;
  for (let code = 0; code < all; code++) if (ends[code] !== 0) used++;
  const codes = new Uint32Array(used);
  const begins = new Uint32Array(used + 1);
  let total = 0;
  for (let code = 0, list = 0; list < used; code++) {
    const size = ends[code] ?? 0;
    if (size === 0) continue;
    codes[list] = code;
    ends[code] = total;
    total += size;
    begins[++list] = total;
  }
  const data = new Uint8Array(total);
  last.fill(0);
  writePlaces(texts, data);
  return {
    codes,
    bytesOf: (list) => (begins[list + 1] ?? 0) - (begins[list] ?? 0),
    read: (list, shift, into) => decode(data, begins[list] ?? 0, begins[list + 1] ?? 0, shift, into),
  };
}

/** Leaves in `ends` how many bytes the places of each gram take. */
function addUpSizes({ bytes, starts, ranks, symbols }: Texts): void {
  for (let text = 0; text + 1 < starts.length; text++) {
    const start = starts[text] ?? 0;
    const length = (starts[text + 1] ?? 0) - start;
    let second = ranks[bytes[start] ?? 0] ?? 0;
    let third = ranks[bytes[start + 1] ?? 0] ?? 0;
    for (let where = 0; where < length; where++) {
      const first = second;
      second = third;
      third = ranks[bytes[start + where + PADDING] ?? 0] ?? 0;
      const code = (first * symbols + second) * symbols + third;
      const further = text - (last[code] ?? 0);
      last[code] = text;
      const size = where < FAR ? 0 : bytesFor(where);
      ends[code] = (ends[code] ?? 0) + size + bytesFor(further << NEAR_BITS);
    }
  }
}

/** Writes the places of each gram from `ends` on. */
function writePlaces({ bytes, starts, ranks, symbols }: Texts, data: Uint8Array): void {
  for (let text = 0; text + 1 < starts.length; text++) {
    const start = starts[text] ?? 0;
    const length = (starts[text + 1] ?? 0) - start;
    let second = ranks[bytes[start] ?? 0] ?? 0;
    let third = ranks[bytes[start + 1] ?? 0] ?? 0;
    for (let where = 0; where < length; where++) {
      const first = second;
      second = third;
      third = ranks[bytes[start + where + PADDING] ?? 0] ?? 0;
      const code = (first * symbols + second) * symbols + third;
      const further = text - (last[code] ?? 0);
      last[code] = text;
      let at = write(data, ends[code] ?? 0, (further << NEAR_BITS) | Math.min(where, FAR));
      if (where >= FAR) at = write(data, at, where);
      ends[code] = at;
    }
  }
}

function write(data: Uint8Array, from: number, value: number): number {
  let at = from;
  for (let bits = 7 * (bytesFor(value) - 1); bits > 0; bits -= 7) data[at++] = (value >>> bits) | 128;
  data[at++] = value & 127;
  return at;
}

function bytesFor(value: number): number {
  if (value < 1 << 7) return 1;
  if (value < 1 << 14) return 2;
  return value < 1 << 21 ? 3 : 4;
}

function decode(data: Uint8Array, begin: number, end: number, shift: number, into: Uint32Array): number {
  let text = 0;
  let count = 0;
  for (let at = begin; at < end; ) {
    let byte = data[at++] ?? 0;
    let place = byte & 127;
    while (byte > 127) {
      byte = data[at++] ?? 0;
      place = (place << 7) | (byte & 127);
    }
    text += place >>> NEAR_BITS;
    let where = place & FAR;
    if (where === FAR) {
      where = 0;
      do {
        byte = data[at++] ?? 0;
        where = (where << 7) | (byte & 127);
      } while (byte > 127);
    }
    if (where >= shift) into[count++] = (text << WHERE_BITS) | (where - shift);
  }
  return count;
}
