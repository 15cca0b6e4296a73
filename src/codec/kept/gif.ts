import { tableBytes } from '../convert/frames.ts';
import { saysMore } from '../decoders/bytes.ts';

/** Blocks of GIF89a, sections 18 to 27. */
const [IMAGE, EXTENSION, TRAILER] = [0x2c, 0x21, 0x3b];
const [CONTROL, COMMENT, APPLICATION] = [0xf9, 0xfe, 0xff];
const MOST_CODES = 4096;
/** What happens to a frame before the next one. From here on it is cleared, or taken back to what may be empty. */
const CLEARED = 2;
type Area = [left: number, top: number, width: number, height: number];

/** Returns header, colour tables, frames with their times, and loops. Colours without a pixel become black. */
export function bareGif(file: Buffer): Buffer | null {
  const table = Buffer.from(file.subarray(13, 13 + tableBytes(file.readUInt8(10))));
  const sides = [file.readUInt16LE(6), file.readUInt16LE(8)] as const;
  const parts = [Buffer.from('GIF89a'), file.subarray(6, 11), Buffer.alloc(2), table];
  const shared = new Set<number>();
  let [loops, right, bottom] = [false, 0, 0];
  for (const { at, area, codesAt, end, control } of partsIn(file)) {
    if (area) {
      const [left, top, width, height] = area;
      // What is outside the screen is never seen.
      if (left + width > sides[0] || top + height > sides[1]) return null;
      [right, bottom] = [Math.max(right, left + width), Math.max(bottom, top + height)];
      const used = new Set<number>();
      // The transparent colour, which need not be in the table.
      const clear = control && control.readUInt8(3) & 1 ? control.readUInt8(6) : -1;
      const codes = codesOf(file, codesAt, width * height, used);
      if (codes === null) return null;
      used.delete(clear);
      const head = Buffer.from(file.subarray(at, codesAt + 1));
      if (head.length === 11) for (const colour of used) shared.add(colour);
      else if (!blacken(head.subarray(10, -1), used)) return null;
      parts.push(...(control ? [control] : []), head, ...inBlocks(codes));
    } else if (file[codesAt] === APPLICATION && end - at === 19 && !loops) {
      loops = /^\x0b(NETSCAPE2\.0|ANIMEXTS1\.0)\x03\x01$/.test(file.toString('latin1', at + 2, at + 16));
      if (loops) parts.push(file.subarray(at, end));
    }
  }
  // Of some sizes of the screen, decoders believe only what frames cover.
  if (right < sides[0] || bottom < sides[1] || !blacken(table, shared)) return null;
  return Buffer.concat([...parts, Buffer.from([TRAILER])]);
}

/**
 * Returns a GIF that its decoder shows as browsers do, or `null` if it does so already. Where nothing is drawn, or nothing any more, it shows
 * a colour unless the frame has a transparent one; so such frames get one that no pixel has. Changes `file`.
 */
export function withClearing(file: Buffer, most: number): Buffer | null {
  const screen = `0,0,${file.readUInt16LE(6)},${file.readUInt16LE(8)}`;
  const shown = partsIn(file).filter(({ area }) => area);
  const frames = [...shown.take(most)];
  const flagsOf = (frame: (typeof frames)[number]) => frame.control?.[3] ?? 0;
  const isOpen = (frame: (typeof frames)[number]) => flagsOf(frame) & 1 || `${frame.area}` !== screen;
  let made: Buffer | null = null;
  // The last first, because only the first one may come without a control extension.
  for (const [index, frame] of [...frames.entries()].reverse()) {
    const { at, area, codesAt, control } = frame;
    const next = frames[index + 1];
    const isCleared = next && isOpen(next) && ((flagsOf(frame) >> 2) & 7) >= CLEARED;
    if (!area || flagsOf(frame) & 1 || !(isCleared || (index === 0 && isOpen(frame)))) continue;
    const used = new Set<number>();
    if (file[codesAt] === 8 && !codesOf(file, codesAt, area[2] * area[3], used)) continue;
    const colour = Array.from({ length: 256 }, (_, one) => one).findLast((one) => !used.has(one));
    if (colour === undefined) continue;
    const own = control ?? Buffer.from([EXTENSION, CONTROL, 4, 0, 0, 0, 0, 0]);
    [own[3], own[6]] = [own.readUInt8(3) | 1, colour];
    made = control ? file : Buffer.concat([file.subarray(0, at), own, file.subarray(at)]);
  }
  return made;
}

/**
 * Reports whether a GIF has comments, an application's block whose name begins like `XMP Data`, which sharp does not read, or more than padding
 * behind its end.
 */
export function tellsMore(file: Buffer): boolean {
  let trailer = 13 + tableBytes(file.readUInt8(10));
  for (const { area, codesAt, end } of partsIn(file)) {
    const isXmp =
      file[codesAt] === APPLICATION && file.toString('latin1', codesAt + 2, codesAt + 5) === 'XMP';
    if (!area && (file[codesAt] === COMMENT || isXmp)) return true;
    trailer = end;
  }
  return saysMore(file.subarray(trailer + 1));
}

/** Yields extensions, and frames with their area and the control extension before them. Throws a `RangeError` if the file is broken. */
function* partsIn(file: Buffer) {
  let control: Buffer | null = null;
  for (let at = 13 + tableBytes(file.readUInt8(10)); file[at] !== TRAILER; ) {
    const isFrame = file[at] === IMAGE;
    if (!isFrame && file[at] !== EXTENSION) throw new RangeError('The block is unknown.');
    // Where the kind of an extension is, and of a frame how many bits its codes have.
    const codesAt = isFrame ? at + 10 + tableBytes(file.readUInt8(at + 9)) : at + 1;
    const end = endOfBlocks(file, codesAt + 1);
    const isControl = !isFrame && file[codesAt] === CONTROL && file[at + 2] === 4 && end - at === 8;
    if (isControl) control = file.subarray(at, end);
    const area = isFrame ? ([1, 3, 5, 7].map((place) => file.readUInt16LE(at + place)) as Area) : null;
    yield { at, area, codesAt, end, control };
    if (isFrame) control = null;
    at = end;
  }
}

/** Makes colours black that no pixel has, so that nothing is hidden in them. Returns false if a pixel has none of the table. */
function blacken(table: Buffer, used: ReadonlySet<number>): boolean {
  for (let colour = 0; colour < table.length / 3; colour++)
    if (!used.has(colour)) table.fill(0, colour * 3, colour * 3 + 3);
  return Math.max(...used) < table.length / 3;
}

/** Returns where the blocks from there end, behind the empty one. */
function endOfBlocks(file: Buffer, from: number): number {
  for (let at = from; ; ) {
    const size = file.readUInt8(at);
    at += 1 + size;
    if (size === 0) return at;
  }
}

/** Joins those blocks, of which there may be millions. */
function joined(file: Buffer, from: number): Buffer {
  const data = Buffer.alloc(endOfBlocks(file, from) - from);
  let length = 0;
  for (let at = from, size = file[at] ?? 0; size > 0; at += 1 + size, size = file[at] ?? 0)
    length += file.copy(data, length, at + 1, at + 1 + size);
  return data.subarray(0, length);
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
function codesOf(file: Buffer, codesAt: number, pixels: number, used: Set<number>) {
  const [bits, data] = [file.readUInt8(codesAt), joined(file, codesAt + 1)];
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
  if (drawn < pixels) return null;
  // Without an end mark, some decoders need the bits of half a code behind the last one.
  return data.subarray(0, data.length * 8 < at + width ? data.length : Math.ceil(at / 8));
}
