import { bareIcc } from './icc.ts';
import { type Bare, withOtherEnd } from './trials.ts';

interface Chunk {
  type: string;
  data: Buffer;
}
type Sides = readonly [width: number, height: number];

/** Flags of the extended format (RFC 9649, section 2.7). */
const [ANIMATION, XMP, EXIF, ALPHA, PROFILE] = [0x02, 0x04, 0x08, 0x10, 0x20];
const METADATA: Record<string, number> = { EXIF, 'XMP ': XMP };
const FRAME_BYTES = 16;
/** How many bytes at the end of VP8's data may have no effect: arithmetic codes need a fraction of a bit for what is likely. */
const SLACK_BYTES = 8;

/** Returns the picture or its frames, the profile, and EXIF and XMP if they are kept. */
export function bareWebp(file: Buffer, keepsExif: boolean): Bare | null {
  const chunks = [...chunksIn(file.subarray(12, 8 + file.readUInt32LE(4)))];
  const head = chunks[0]?.type === 'VP8X' ? chunks[0].data : null;
  const moves = head !== null && (head.readUInt8(0) & ANIMATION) !== 0;
  const frames: Frame[] = moves
    ? chunks.filter(({ type }) => type === 'ANMF').map(({ data }) => frameIn(data))
    : [{ picture: pictureIn(chunks) }];
  const sizes = frames.map(({ picture }) => sizeOf(picture));
  const canvas = head ? sidesAt(head, 4) : sizes[0];
  const fits = frames.every(({ shape }, index) => {
    const [width, height] = sizes[index] ?? [Infinity, Infinity];
    const [x, y] = shape ? [2 * shape.readUIntLE(0, 3), 2 * shape.readUIntLE(3, 3)] : [0, 0];
    const isAsNamed = `${shape ? sidesAt(shape, 6) : canvas}` === `${[width, height]}`;
    return canvas && isAsNamed && x + width <= canvas[0] && y + height <= canvas[1];
  });
  if (!canvas || !fits) return null;
  const only = (type: string) => chunks.find((chunk) => chunk.type === type)?.data;
  const [profile, motion] = [only('ICCP'), only('ANIM')];
  const icc = profile && bareIcc(profile);
  if (icc === null || moves !== (motion !== undefined)) return null;
  const back = chunks.filter(({ type }) => keepsExif && type in METADATA);
  if (new Set(back.map(({ type }) => type)).size < back.length) return null;
  const flags =
    (moves ? ANIMATION : 0) |
    (icc ? PROFILE : 0) |
    back.reduce((sum, { type }) => sum | (METADATA[type] ?? 0), 0);
  const fileOf = (all: readonly Frame[]) => {
    const body = [
      ...(icc ? [{ type: 'ICCP', data: icc }] : []),
      // Viewers do not draw the colour behind the frames, which precedes the number of loops.
      ...(motion ? [{ type: 'ANIM', data: Buffer.concat([Buffer.alloc(4), motion.subarray(4, 6)]) }] : []),
      ...all.flatMap(({ shape, picture }) => (shape ? frameOf(shape, picture) : picture)),
      ...back,
    ];
    const hasMask = all.some(({ picture }) => isTransparent(picture));
    return webpOf(body, flags | (hasMask ? ALPHA : 0), canvas);
  };
  return {
    file: fileOf(frames),
    shown: fileOf(frames.map((frame) => ({ ...frame, picture: frame.picture.map(withMask) }))),
    *trials() {
      for (const [index, { picture }] of frames.entries()) {
        const still = (chunks: readonly Chunk[]) =>
          webpOf(chunks, isTransparent(chunks) ? ALPHA : 0, sizes[index] as Sides);
        yield {
          picture: still(picture),
          changed: [...changedEnds(picture)].map((end) => (mask) => still(end(mask))),
        };
      }
    },
  };
}

/** Reports whether a file is a lossless still picture, judging by its first chunks (section 2.6). Throws a `RangeError` if they are broken. */
export function isLossless(file: Buffer): boolean {
  const first = chunksIn(file.subarray(12)).find(({ type }) => ['VP8L', 'VP8 ', 'ANMF'].includes(type));
  return first?.type === 'VP8L';
}

function sidesAt(data: Buffer, at: number): Sides {
  return [data.readUIntLE(at, 3) + 1, data.readUIntLE(at + 3, 3) + 1];
}

interface Frame {
  /** Its head, of an animation. */
  shape?: Buffer;
  picture: Chunk[];
}

function frameIn(data: Buffer): Frame {
  const shape = Buffer.from(data.subarray(0, FRAME_BYTES));
  // The other bits are reserved.
  shape[15] = shape.readUInt8(15) & 3;
  return { shape, picture: pictureIn([...chunksIn(data.subarray(FRAME_BYTES))]) };
}

function frameOf(shape: Buffer, picture: readonly Chunk[]): Chunk {
  return { type: 'ANMF', data: Buffer.concat([shape, ...picture.flatMap(written)]) };
}

const pictureIn = (chunks: readonly Chunk[]) =>
  chunks.filter(({ type }) => ['ALPH', 'VP8 ', 'VP8L'].includes(type));

function isTransparent([first]: readonly Chunk[]): boolean {
  return first?.type === 'ALPH' || (first?.type === 'VP8L' && (first.data.readUInt8(4) & 0x10) !== 0);
}

/** Sets the flag without which some viewers draw all pixels of VP8L and others only those that are not transparent. */
function withMask({ type, data }: Chunk): Chunk {
  const changed = Buffer.from(data);
  if (type === 'VP8L') changed[4] = data.readUInt8(4) | 0x10;
  return { type, data: changed };
}

/** Returns the sides of one picture, with a mask before it or not, or `null` for anything else. */
function sizeOf(picture: readonly Chunk[]): Sides | null {
  const kind = picture.map(({ type }) => type).join();
  const data = picture.at(-1)?.data;
  if (data && kind === 'VP8L') {
    const bits = data.readUInt32LE(1);
    return data[0] === 0x2f && bits >>> 29 === 0 ? [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1] : null;
  }
  if (!data || !['VP8 ', 'ALPH,VP8 '].includes(kind)) return null;
  const [width, height] = [data.readUInt16LE(6), data.readUInt16LE(8)];
  // A key frame that is shown, not to be enlarged, with its data in one part.
  const isUsual = (data.readUInt8(0) & 0x11) === 0x10 && width < 0x4000 && height < 0x4000;
  const mask = picture[0]?.type === 'ALPH' ? picture[0].data : null;
  const isRaw = mask !== null && (mask.readUInt8(0) & 3) === 0;
  if (!isUsual || (isRaw && mask.length !== 1 + width * height)) return null;
  return partitionsOf(data.subarray(10, 10 + firstPart(data))) === 1 ? [width, height] : null;
}

const firstPart = (data: Buffer) => data.readUIntLE(0, 3) >> 5;

/** Reads the header of a frame up to the number of its parts (RFC 6386, sections 7.3 and 9.2 to 9.5). */
function partitionsOf(data: Buffer): number {
  let [value, range, shifts, at] = [data.readUInt16BE(0), 255, 0, 2];
  const bit = () => {
    const split = 1 + (((range - 1) * 128) >> 8);
    const isSet = value >= split * 256;
    range = isSet ? range - split : split;
    if (isSet) value -= split * 256;
    for (; range < 128; range *= 2) {
      value *= 2;
      if (++shifts === 8) {
        value |= data.readUInt8(at++);
        shifts = 0;
      }
    }
    return isSet ? 1 : 0;
  };
  const bits = (count: number) =>
    Array.from({ length: count }, bit).reduce<number>((sum, one) => sum * 2 + one, 0);
  const optional = (count: number, length: number) => {
    for (; count > 0; count--) if (bit()) bits(length);
  };
  bits(2);
  if (bit()) {
    const [map, values] = [bit(), bit()];
    if (values) {
      bit();
      optional(4, 8);
      optional(4, 7);
    }
    if (map) optional(3, 8);
  }
  bits(10);
  if (bit() && bit()) optional(8, 7);
  return 1 << bits(2);
}

/** Returns for each part of the picture's data how to change bytes at its end. */
function* changedEnds(picture: readonly Chunk[]): Generator<(mask: number) => Chunk[]> {
  for (const { type, data } of picture) {
    const instead = (count: number, end?: number) => (mask: number) =>
      picture.map((one) => (one.type === type ? { type, data: withOtherEnd(data, mask, count, end) } : one));
    if (type === 'VP8 ') {
      yield instead(SLACK_BYTES, 10 + firstPart(data));
      yield instead(SLACK_BYTES);
    } else if (type === 'VP8L' || (data.readUInt8(0) & 3) !== 0) yield instead(1);
  }
}

function* chunksIn(bytes: Buffer): Generator<Chunk> {
  for (let at = 0; at < bytes.length; ) {
    const size = bytes.readUInt32LE(at + 4);
    if (at + 8 + size > bytes.length) throw new RangeError('The chunk does not end.');
    yield { type: bytes.toString('latin1', at, at + 4), data: bytes.subarray(at + 8, at + 8 + size) };
    at += 8 + size + (size % 2);
  }
}

function written({ type, data }: Chunk): Buffer[] {
  const head = Buffer.alloc(8);
  head.write(type, 'latin1');
  head.writeUInt32LE(data.length, 4);
  return [head, data, Buffer.alloc(data.length % 2)];
}

/** Writes a file, in the simple format if it says no more than its picture. */
function webpOf(chunks: readonly Chunk[], flags: number, [width, height]: Sides): Buffer {
  const head = Buffer.alloc(10);
  head[0] = flags;
  head.writeUIntLE(width - 1, 4, 3);
  head.writeUIntLE(height - 1, 7, 3);
  const isSimple = chunks.length === 1;
  const body = Buffer.concat(
    [...(isSimple ? [] : [{ type: 'VP8X', data: head }]), ...chunks].flatMap(written),
  );
  const riff = Buffer.from('RIFF0000WEBP', 'latin1');
  riff.writeUInt32LE(4 + body.length, 4);
  return Buffer.concat([riff, body]);
}
