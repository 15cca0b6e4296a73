import { tableBytes } from '../convert/frames.ts';

/** Blocks of GIF89a, sections 18 to 27. */
const [IMAGE, EXTENSION, TRAILER, CONTROL, APPLICATION] = [0x2c, 0x21, 0x3b, 0xf9, 0xff];
const MOST_CODES = 4096;
const INTERLACED = 0x40;
type Sides = [left: number, top: number, width: number, height: number];

/** Returns header, colour tables, frames with their times, and loops. Colours without a pixel become black, missing pixels transparent. */
export function bareGif(file: Buffer): Buffer | null {
  const table = Buffer.from(file.subarray(13, 13 + tableBytes(file.readUInt8(10))));
  const sides = [file.readUInt16LE(6), file.readUInt16LE(8)] as const;
  const parts = [Buffer.from('GIF89a'), file.subarray(6, 11), Buffer.alloc(2), table];
  const shared = new Set<number>();
  let control: Buffer | null = null;
  let [loops, right, bottom] = [false, 0, 0];
  for (let at = 13 + table.length; ; ) {
    const label = file.readUInt8(at);
    if (label === TRAILER) {
      // Of some sizes of the screen, decoders believe only what frames cover.
      if (right < sides[0] || bottom < sides[1] || !blacken(table, shared)) return null;
      return Buffer.concat([...parts, Buffer.from([TRAILER])]);
    }
    if (label === EXTENSION) {
      const { data, end } = blocksAt(file, at + 2);
      const kind = file.readUInt8(at + 1);
      if (kind === CONTROL && data.length === 4 && end - at === 8) control = file.subarray(at, end);
      const isLoop =
        kind === APPLICATION && /^(NETSCAPE2\.0|ANIMEXTS1\.0)\x01$/.test(data.toString('latin1', 0, 12));
      if (isLoop && data.length === 14 && end - at === 19 && !loops) {
        loops = true;
        parts.push(file.subarray(at, end));
      }
      at = end;
    } else if (label === IMAGE) {
      const [left, top, width, height] = [1, 3, 5, 7].map((place) => file.readUInt16LE(at + place)) as Sides;
      // What is outside the screen is never seen.
      if (left + width > sides[0] || top + height > sides[1]) return null;
      [right, bottom] = [Math.max(right, left + width), Math.max(bottom, top + height)];
      const start = at + 10 + tableBytes(file.readUInt8(at + 9));
      const { data, end } = blocksAt(file, start + 1);
      const used = new Set<number>();
      // The transparent colour, which need not be in the table.
      const clear = control && control.readUInt8(3) & 1 ? control.readUInt8(6) : -1;
      const codes = codesOf(data, file.readUInt8(start), width * height, used, clear);
      if (codes === null) return null;
      used.delete(clear);
      let head = Buffer.from(file.subarray(at, start + 1));
      if (head.length === 11) for (const colour of used) shared.add(colour);
      else if (!blacken(head.subarray(10, -1), used)) return null;
      // Without a single colour, a table of its own says nothing.
      else if (used.size === 0 && table.length > 0) {
        head = Buffer.concat([head.subarray(0, 10), head.subarray(-1)]);
        head[9] = head.readUInt8(9) & INTERLACED;
      }
      parts.push(...(control ? [control] : []), head, ...inBlocks(codes));
      control = null;
      at = end;
    } else return null;
  }
}

/** Makes colours black that no pixel has, so that nothing is hidden in them. Returns false if a pixel has none of the table. */
function blacken(table: Buffer, used: ReadonlySet<number>): boolean {
  for (let colour = 0; colour < table.length / 3; colour++)
    if (!used.has(colour)) table.fill(0, colour * 3, colour * 3 + 3);
  return Math.max(...used) < table.length / 3;
}

/** Joins the blocks from there to the empty one. */
function blocksAt(file: Buffer, from: number): { data: Buffer; end: number } {
  const blocks: Buffer[] = [];
  for (let at = from; ; ) {
    const size = file.readUInt8(at);
    if (size === 0) return { data: Buffer.concat(blocks), end: at + 1 };
    blocks.push(file.subarray(at + 1, at + 1 + size));
    at += 1 + size;
  }
}

function inBlocks(data: Buffer): Buffer[] {
  const blocks: Buffer[] = [];
  for (let at = 0; at < data.length; at += 255) {
    const block = data.subarray(at, at + 255);
    blocks.push(Buffer.from([block.length]), block);
  }
  return [...blocks, Buffer.from([0])];
}

/**
 * Returns the codes of that many pixels with their end mark (appendix F); `null` if they do not fit. Adds their colours to
 * `used`: each stands for itself once, before it is part of a longer code.
 */
function codesOf(data: Buffer, bits: number, pixels: number, used: Set<number>, transparent: number) {
  if (bits < 1 || bits > 11) return null;
  const clear = 1 << bits;
  const lengths = new Uint32Array(MOST_CODES).fill(1, 0, clear);
  let [next, width, previous, drawn, at] = [clear + 2, bits + 1, -1, 0, 0];
  for (; at + width <= data.length * 8; ) {
    const byte = at >> 3;
    const window = (data[byte] ?? 0) | ((data[byte + 1] ?? 0) << 8) | ((data[byte + 2] ?? 0) << 16);
    const code = (window >> (at & 7)) & ((1 << width) - 1);
    if (code === clear + 1 ? drawn < pixels : drawn >= pixels) break;
    at += width;
    if (code === clear + 1) return data.subarray(0, Math.ceil(at / 8));
    if (code === clear) {
      // A second one says nothing.
      if (previous < 0 && at > width) return null;
      [next, width, previous] = [clear + 2, bits + 1, -1];
      continue;
    }
    if (code > next || (code === next && previous < 0) || (previous < 0 && code >= clear)) return null;
    if (previous >= 0 && next < MOST_CODES) {
      lengths[next++] = (lengths[previous] ?? 0) + 1;
      if (next === 1 << width && width < 12) width++;
    }
    if (code < clear) used.add(code);
    drawn += lengths[code] ?? 0;
    previous = code;
  }
  // Some viewers draw pixels that are missing in black, others not at all.
  if (drawn < pixels) return withRun(data, at, width, bits, transparent, pixels - drawn);
  // Without an end mark, some decoders need the bits of half a code behind the last one.
  return data.subarray(0, data.length * 8 < at + width ? data.length : Math.ceil(at / 8));
}

/** Puts that many pixels of a colour and the end mark behind the first `at` bits; `null` if there is no such colour, or too few codes. */
function withRun(data: Buffer, at: number, width: number, bits: number, colour: number, pixels: number) {
  const clear = 1 << bits;
  if (bits < 2 || colour < 0 || colour >= clear) return null;
  const inBits = (code: number, size: number) => code.toString(2).padStart(size, '0');
  // Codes begin at the lowest bit, which is the last one of a number.
  let text =
    inBits(colour, bits + 1) + inBits(clear, width) + inBits(data[at >> 3] ?? 0, 8).slice(8 - (at & 7));
  let next = clear + 2;
  // After a clear code, each new code is the one before it and a pixel more.
  for (let [run, left] = [2, pixels - 1]; left > 0 && next < MOST_CODES; left -= run++)
    text = (next++).toString(2) + text;
  if (next >= MOST_CODES) return null;
  text = inBits(clear + 1, next.toString(2).length) + text;
  const bytes = text.padStart(Math.ceil(text.length / 8) * 8, '0').match(/.{8}/g) ?? [];
  const run = bytes.reverse().map((byte) => Number.parseInt(byte, 2));
  return Buffer.concat([data.subarray(0, at >> 3), Buffer.from(run)]);
}
