import sharp from 'sharp';
import { boxesIn, boxIn } from '../../../src/codec/decoders/heif-boxes.ts';

type Colour = readonly [red: number, green: number, blue: number];
type Size = readonly [width: number, height: number];

interface Sequence {
  frames: readonly Colour[];
  /** Opacity of each frame, as a second track. */
  opacity?: readonly number[];
  /** Whether the colours are told to be multiplied by it. */
  premultiplied?: boolean;
  /** Quarters by which they are turned. Masks say the same, and all say it twice. */
  turns?: number;
  size?: Size;
  /** What its tables say of that. */
  told?: Size;
  /** In ms. */
  delays?: readonly number[];
  /** Whether the list of edits repeats, and how many times all of them fit into the track. */
  edits?: { repeats: boolean; times: number };
  /** Numbers of the key frames, counted from 1; without a list each is one. */
  keys?: readonly number[];
  /** The same for the masks. */
  maskKeys?: readonly number[];
  /** A still picture beside the frames, with EXIF. */
  cover?: Colour;
  /** Bodies of its boxes `colr`. */
  colours?: readonly Buffer[];
  /** What the table of sizes says instead of the truth. */
  sizes?: readonly number[];
  count?: number;
  /** Makes each sample all there is. */
  overlapping?: boolean;
}

const SIZE: Size = [16, 8];

/** Writes an animated AVIF of plain frames, each of which is a key frame, whatever it says. */
export async function avifSequence(sequence: Sequence): Promise<Buffer> {
  const { frames, opacity = [], size = SIZE, cover } = sequence;
  const grey = (value: number): Colour => [value, value, value];
  const drawn = new Map<Colour, Promise<Buffer>>();
  const once = (colour: Colour) => {
    const still = drawn.get(colour) ?? stillOf(colour, size);
    drawn.set(colour, still);
    return still;
  };
  const pictures = await Promise.all(frames.map(once));
  const masks = await Promise.all(opacity.map((value) => stillOf(grey(value), size, true)));
  const samples = [pictures, masks].map((stills) => stills.map((still) => boxIn(still, 'mdat')));
  const movieAt = (start: number) => {
    const [first = [], second = []] = samples;
    const after = first.reduce((sum, { length }) => sum + length, start);
    return box(
      'moov',
      box('mvhd', u32(0, 0, 0, 1000, 300), Buffer.alloc(76), u32(3)),
      trak(1, pictures[0] as Buffer, first, start, sequence),
      ...(masks[0] ? [trak(2, masks[0], second, after, sequence)] : []),
    );
  };
  const withExif = async (still: Buffer) =>
    sharp(still)
      .withExif({ IFD0: { Make: 'Secret' } })
      .avif()
      .toBuffer();
  const type = cover
    ? await withExif(await stillOf(cover, size))
    : box('ftyp', Buffer.from('avis\0\0\0\0avisavifmsf1'));
  type.write('avis', 8);
  const start = type.length + movieAt(0).length + 8;
  return Buffer.concat([type, movieAt(start), box('mdat', ...samples.flat())]);
}

async function stillOf([r, g, b]: Colour, [width, height]: Size, isMask = false): Promise<Buffer> {
  const create = { width, height, channels: 3, background: { r, g, b } } as const;
  const plain = sharp({ create });
  return (isMask ? plain.toColourspace('b-w') : plain).avif({ quality: 90, effort: 0 }).toBuffer();
}

function trak(
  id: number,
  still: Buffer,
  samples: readonly Buffer[],
  start: number,
  sequence: Sequence,
): Buffer {
  const { size = SIZE, told: toldSize = size, delays = samples.map(() => 100) } = sequence;
  const { edits, sizes, count, overlapping = false, colours = [] } = sequence;
  const isMask = id === 2;
  const keys = isMask ? (sequence.maskKeys ?? sequence.keys) : sequence.keys;
  const properties = [...boxesIn(boxIn(boxIn(boxIn(still, 'meta').subarray(4), 'iprp'), 'ipco'))];
  const configuration = properties.find(({ type }) => type === 'av1C')?.body ?? Buffer.alloc(0);
  const all = delays.reduce((sum, delay) => sum + delay, 0);
  const whole = samples.reduce((sum, { length }) => sum + length, 0);
  const told = sizes ?? samples.map(({ length }) => (overlapping ? whole : length));
  const places = overlapping ? samples.map(() => start) : [start];
  const entry = box(
    'av01',
    ...[Buffer.alloc(24), u16(...toldSize), Buffer.alloc(50), box('av1C', configuration)],
    ...colours.map((body) => box('colr', body)),
    ...(sequence.turns ? Array(2).fill(box('irot', Buffer.from([sequence.turns]))) : []),
    ...(isMask ? [box('auxi', u32(0), Buffer.from('urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0'))] : []),
  );
  const table = box(
    'stbl',
    box('stsd', u32(0, 1), entry),
    box('stts', u32(0, delays.length, ...delays.flatMap((delay) => [1, delay]))),
    box('stsc', u32(0, 1, 1, samples.length / places.length, 1)),
    box('stsz', u32(0, 0, count ?? told.length, ...told)),
    ...(isMask ? [box('co64', u32(0, 1, 0, start))] : [box('stco', u32(0, places.length, ...places))]),
    ...(keys ? [box('stss', u32(0, keys.length, ...keys))] : []),
  );
  return box(
    'trak',
    box('tkhd', u32(0, 0, 0, id, 0, edits ? all * edits.times : 0xffffffff), Buffer.alloc(60)),
    ...(isMask ? [box('tref', box('auxl', u32(1)))] : []),
    ...(!isMask && sequence.premultiplied ? [box('tref', box('prem', u32(2)))] : []),
    ...(edits ? [box('edts', box('elst', u32(edits.repeats ? 1 : 0, 1, all, 0, 0x10000)))] : []),
    box(
      'mdia',
      box('mdhd', u32(0, 0, 0, 1000, all, 0)),
      box('hdlr', u32(0, 0), Buffer.from(isMask ? 'auxv' : 'pict'), Buffer.alloc(13)),
      box('minf', table),
    ),
  );
}

function box(type: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([u32(8 + body.length), Buffer.from(type), body]);
}

function u32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [place, value] of values.entries()) bytes.writeUInt32BE(value, 4 * place);
  return bytes;
}

function u16(...values: number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length);
  for (const [place, value] of values.entries()) bytes.writeUInt16BE(value, 2 * place);
  return bytes;
}
