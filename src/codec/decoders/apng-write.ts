import { deflateSync } from 'node:zlib';
import type { Strip } from '../convert/animation.ts';
import type { SharpConstructor } from '../convert/sharp.ts';
import { isAlpha, long, short } from './bytes.ts';
import { chunksOf, PNG_SIGNATURE, writeChunk, writeHeader } from './png-chunks.ts';

const [RGB, INDEXED, RGBA] = [2, 3, 6];
const MAX_DELAY = 0xffff;

interface Area {
  left: number;
  top: number;
  width: number;
  height: number;
}

/**
 * Writes an animated PNG: of each frame the part that differs from the one before, with a palette if all colours fit
 * into one.
 */
export async function writeApng(strip: Strip, sharp: SharpConstructor): Promise<Buffer> {
  const { width, height, delay, loop } = strip;
  const palette = paletteOf(strip.pixels);
  const colourType = palette ? INDEXED : isAlpha(255, strip.pixels) ? RGB : RGBA;
  const chunks = [
    PNG_SIGNATURE,
    ...writeHeader(strip, colourType),
    ...writeChunk('acTL', Buffer.from([...long(delay.length), ...long(loop)])),
    ...(palette ? [...writeChunk('PLTE', palette.colours), ...writeChunk('tRNS', palette.alphas)] : []),
  ];
  let sequence = 0;
  const numbered = () => Buffer.from(long(sequence++));
  for (const [index, ms] of delay.entries()) {
    const area = index === 0 ? { left: 0, top: 0, width, height } : changedArea(strip, index);
    chunks.push(...writeChunk('fcTL', Buffer.concat([numbered(), frameControl(area, ms)])));
    for (const data of await encode(strip, index, area, { palette, colourType, sharp })) {
      chunks.push(
        ...(index === 0 ? writeChunk('IDAT', data) : writeChunk('fdAT', Buffer.concat([numbered(), data]))),
      );
    }
  }
  return Buffer.concat([...chunks, ...writeChunk('IEND', Buffer.alloc(0))]);
}

/** Without its sequence number. The frame replaces what was there, and stays. */
function frameControl({ left, top, width, height }: Area, ms: number): Buffer {
  // A delay above 65 s is only accurate to a tenth of a second.
  const unit = ms > MAX_DELAY ? 10 : 1000;
  const delay = Math.min(MAX_DELAY, Math.round((ms * unit) / 1000));
  return Buffer.from([...[width, height, left, top].flatMap(long), ...short(delay), ...short(unit), 0, 0]);
}

/** Returns the smallest area in which a frame differs from the one before, or one pixel if they are equal. */
function changedArea({ pixels, width, height }: Strip, index: number): Area {
  const size = width * height;
  const words = new Uint32Array(pixels.buffer, pixels.byteOffset, pixels.byteLength / 4);
  const before = words.subarray((index - 1) * size, index * size);
  const frame = words.subarray(index * size, (index + 1) * size);
  let [left, right, top, bottom] = [width, -1, height, -1];
  for (let y = 0; y < height; y++) {
    const row = y * width;
    let x = 0;
    while (x < width && frame[row + x] === before[row + x]) x++;
    if (x === width) continue;
    let last = width - 1;
    while (frame[row + last] === before[row + last]) last--;
    [left, right, top, bottom] = [Math.min(left, x), Math.max(right, last), Math.min(top, y), y];
  }
  if (right < 0) return { left: 0, top: 0, width: 1, height: 1 };
  return { left, top, width: right - left + 1, height: bottom - top + 1 };
}

/** Returns the compressed pixels of an area of a frame. */
async function encode(
  { pixels, width, height }: Strip,
  index: number,
  area: Area,
  { palette, colourType, sharp }: { palette: Palette | null; colourType: number; sharp: SharpConstructor },
): Promise<Buffer[]> {
  const frame = pixels.subarray(index * width * height * 4, (index + 1) * width * height * 4);
  if (palette) return [deflateSync(indexedRows(frame, width, area, palette), { level: 9 })];
  const part = sharp(frame, { raw: { width, height, channels: 4 } }).extract(area);
  const opaque = colourType === RGB ? part.removeAlpha() : part;
  const png = await opaque.png({ compressionLevel: 6, adaptiveFiltering: true }).toBuffer();
  return [...chunksOf(png)].flatMap(({ type, data }) => (type === 'IDAT' ? [data] : []));
}

/** Each row begins with the number of its filter: none, which suits indices. */
function indexedRows(
  frame: Uint8Array,
  frameWidth: number,
  { left, top, width, height }: Area,
  palette: Palette,
): Buffer {
  const rows = Buffer.alloc((width + 1) * height);
  const words = new Uint32Array(frame.buffer, frame.byteOffset, frame.byteLength / 4);
  for (let y = 0, to = 0; y < height; y++) {
    to++;
    const row = (top + y) * frameWidth + left;
    for (let x = 0; x < width; x++) rows[to++] = palette.index(words[row + x] ?? 0);
  }
  return rows;
}

/** The colours of a picture with at most 256. */
interface Palette {
  /** Red, green, blue of each. */
  colours: Buffer;
  /** Alpha of each. */
  alphas: Buffer;
  /** Returns the index of a colour, given as the four bytes of its pixel. */
  index(word: number): number;
}

const MOST = 256;

/** Returns the palette of RGBA pixels, or `null` for more than 256 colours. */
function paletteOf(pixels: Uint8Array): Palette | null {
  const words = new Uint32Array(pixels.buffer, pixels.byteOffset, pixels.byteLength / 4);
  const places = new Map<number, number>();
  let last = -1;
  for (const word of words) {
    if (word === last) continue;
    last = word;
    if (places.has(word)) continue;
    if (places.size === MOST) return null;
    places.set(word, places.size);
  }
  const bytes = Buffer.from(Uint32Array.from(places.keys()).buffer);
  const colours = Buffer.alloc(places.size * 3);
  const alphas = Buffer.alloc(places.size);
  for (let place = 0; place < places.size; place++) {
    bytes.copy(colours, place * 3, place * 4, place * 4 + 3);
    alphas[place] = bytes[place * 4 + 3] ?? 0;
  }
  return { colours, alphas, index: (word) => places.get(word) ?? 0 };
}
