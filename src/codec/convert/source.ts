import { readFile, stat } from 'node:fs/promises';
import { AppError, message } from '../../errors.ts';
import { parseApng } from '../decoders/apng.ts';
import { animationOf, firstAsPng } from '../decoders/apng-frames.ts';
import { decodeAvis } from '../decoders/avis.ts';
import { decodeBmp, iconAsPng } from '../decoders/bmp.ts';
import { orNothing } from '../decoders/bytes.ts';
import { heicAsPng } from '../decoders/heic.ts';
import { parseHeif, readHeifParts } from '../decoders/heif-boxes.ts';
import { type Parts, readJpegParts, withEnd } from '../decoders/jpeg-parts.ts';
import { decodeJxl } from '../decoders/jxl.ts';
import { writePng } from '../decoders/png.ts';
import { readChunks } from '../decoders/png-chunks.ts';
import { recoloured } from '../decoders/recolour.ts';
import { decodeTiff } from '../decoders/tiff.ts';
import { ACCEPTED } from '../formats.ts';
import { isNarrowGrey, withTurnedMask } from '../kept/avif.ts';
import { tellsMore, withClearing } from '../kept/gif.ts';
import { isLossless } from '../kept/webp.ts';
import type { InputLimits } from '../workers/protocol.ts';
import type { Animation, Decoded } from './animation.ts';
import { countFrames } from './frames.ts';
import { type Header, readHeader } from './header.ts';
import { checkLimits } from './limits.ts';
import { INPUT, inSrgb, type Metadata, type Sharp, type SharpConstructor } from './sharp.ts';

/** A picture whose header was read and whose limits were checked. */
export interface Source {
  kind: Header['kind'];
  bytes: number;
  /** What sharp decodes: the file itself, or the output of another decoder. */
  input: string | Buffer;
  /** sharp's metadata of that input; for HEIC, of the file. With what the file tells besides. */
  header: Metadata;
  /** Whether sharp reads EXIF from that input. Without any, it writes some of its own. */
  readsExif: boolean;
  /** Frames of the animation, or pictures in the file. */
  frames: number;
  moves: boolean;
  /** Size of one frame as viewers show it. They turn still pictures by their EXIF, but not animations. */
  upright: { width: number; height: number };
  /** False if the file ends too early. */
  complete: boolean;
  /** True if it is lossless and compresses so well that it is a drawing or a screenshot. */
  isFlat: boolean;
  /** Set for an animation that sharp cannot decode. */
  animation: Animation | null;
  /** What else the file contains, if known; `video`: whether it is a motion photo. */
  parts?: Parts & { video: boolean };
}

const HEIC_REFUSED = 'The file is a HEIC picture, which this server does not accept; send it as JPEG.';

/** Lossless pictures below this many bytes a pixel are drawings and screenshots; photos need 1.2 and more. */
const FLAT_BYTES_PER_PIXEL = 0.5;

/** XMP of a file with a video behind its picture. */
const MOTION = /(MotionPhoto|MicroVideo)(="|>)1["<]/;

/** Samples whose range libvips knows, by themselves or with their colours. Of others, grey from 0 to 1 would be black. */
const RANGED = ['uchar', 'ushort', 'float scrgb', 'float lab', 'float xyz', 'short labs'];
/** Samples of measurements, such as heights and scans of bodies: shown from the lowest to the highest. */
const MEASURED = ['char', 'short', 'int', 'uint'];
const RANGE_REFUSED =
  'The samples of the TIFF file are fractions, signed, or of 32 bits, and their range is unknown; save it with 8 or 16 bits.';

const SEQUENCE_REFUSED =
  'The file is an animated HEIF picture, which this server cannot read; send it as WebP, GIF or animated PNG.';

const stillOf = (still: Buffer): Decoded => ({ still, frames: 1, animation: null });

type Decode = (file: Buffer, limits: InputLimits, sharp: SharpConstructor) => Decoded | Promise<Decoded>;

/** Those decoders, and readers of what sharp does not see. Each checks the limits before it allocates memory for the pixels. */
const DECODERS = new Map<Header['kind'], Decode>([
  ['bmp', (file, limits) => stillOf(writePng({ ...decodeBmp(file, limits), level: 1 }))],
  ['ico', (file, limits) => stillOf(iconAsPng(file, limits))],
  [
    'gif',
    (file, { maxFrames }) => {
      const still = orNothing(() => withClearing(file, maxFrames));
      return { ...(still && { still }), tells: orNothing(() => tellsMore(file)) === true, animation: null };
    },
  ],
  ['jxl', decodeJxl],
  ['png', (file) => ({ ...readChunks(file), apng: parseApng(file), animation: null })],
  ['tiff', decodeTiff],
  [
    'webp',
    (file) => ({ ...(orNothing(() => isLossless(file)) && { packed: file.length }), animation: null }),
  ],
]);

/**
 * Opens a file. Rejects with `image_limit`, `undecodable_image`, or `not_an_image` for HEIF sequences, and for HEIC if
 * that is disabled.
 */
export async function openSource(
  path: string,
  limits: InputLimits,
  sharp: SharpConstructor,
): Promise<Source> {
  const kind = (await readHeader(path))?.kind ?? 'jpeg';
  const read = kind === 'heif' ? await readHeifParts(path) : null;
  const decode = read?.moves ? decodeAvis : DECODERS.get(kind);
  const decoded = decode && (await decoding(kind, async () => decode(await readFile(path), limits, sharp)));
  const input = decoded?.still ?? path;
  const heif = decoded?.still && read ? { ...parseHeif(decoded.still), sequence: decoded.frames ?? 0 } : read;
  const header = await decoding(kind, () => sharp(input, INPUT).metadata()).catch((error) => {
    throw !decoded && heif?.sequence
      ? new AppError('not_an_image', SEQUENCE_REFUSED, { cause: error })
      : error;
  });
  const isHeic = header.format === 'heif' && header.compression === 'hevc';
  if (isHeic && !limits.heic) throw new AppError('not_an_image', HEIC_REFUSED);
  const isRanged = RANGED.includes(header.depth) || RANGED.includes(`${header.depth} ${header.space}`);
  if (!isRanged && (header.channels > 1 || !MEASURED.includes(header.depth) || !decoded?.isMeasured))
    throw new AppError('undecodable_image', RANGE_REFUSED);

  const { width, height, pages = 1 } = header;
  const { complete } = await countFrames(path, kind, limits.maxFrames + 1);
  // A profile takes precedence over codes in HEIF and the gamma of a PNG, but not over its codes.
  const coded = decoded?.cicp ?? heif?.cicp ?? null;
  const cicp = header.icc && (heif || coded?.gamma) ? null : coded;
  const apng = decoded?.apng ?? null;
  const animation = apng ? animationOf(apng, { sharp, header, cicp }) : (decoded?.animation ?? null);
  const moves = kind === 'gif' || kind === 'webp' || animation !== null;
  const frames = apng?.frames.length ?? decoded?.frames ?? pages;
  checkLimits({ width, height, frames: moves ? frames : 1 }, limits);
  const jpeg = kind === 'jpeg' ? await readJpegParts(path) : null;
  const redrawn = await decoding(kind, async () => {
    if (jpeg) return jpeg.ends ? null : withEnd(path, header, sharp);
    if (animation && apng?.hidesStill && apng.complete && frames === 1)
      return firstAsPng(animation, header, sharp);
    if (isHeic) return heicAsPng(path, header, { ...heif, cicp });
    if (!isRanged) return fullRange(input, header, sharp);
    if (decoded?.isOpaque && header.hasAlpha)
      return inSrgb(sharp(input, INPUT).autoOrient().removeAlpha().keepXmp(), header).png().toBuffer();
    if (heif && !decoded && (header.hasAlpha || heif.narrowGrey === null)) {
      const file = await readFile(path);
      const turned = orNothing(() => withTurnedMask(file));
      const narrowGrey = heif.narrowGrey ?? orNothing(() => isNarrowGrey(file));
      const parts = { ...heif, cicp, narrowGrey, rewritten: turned !== null };
      return recoloured(turned ?? input, header, parts, sharp);
    }
    return recoloured(input, header, { ...heif, cicp }, sharp);
  });
  const video = MOTION.test(header.xmp?.toString('latin1') ?? '');
  // Of what is behind a picture, a video has a warning of its own.
  const tells = decoded?.tells || jpeg?.tells || (jpeg?.trails && !video && !redrawn);
  return {
    kind,
    bytes: (await stat(path)).size,
    input: redrawn ?? input,
    header: { ...header, ...decoded?.told, ...(tells && { comments: [{ keyword: '', text: '' }] }) },
    readsExif: header.exif !== undefined,
    frames,
    moves,
    upright: moves && frames > 1 ? { width, height } : header.autoOrient,
    complete: apng?.complete ?? complete,
    isFlat: await isFlat(kind, input, header, decoded?.packed),
    animation,
    ...(jpeg && { parts: { ...jpeg, video } }),
    ...(heif && { parts: { gainMap: heif.gainMap, pictures: Math.max(pages, heif.sequence), video } }),
  };
}

/** Opens the picture for sharp as viewers show it; `animated`: with all frames. */
export function openUpright(
  { input, moves, frames }: Source,
  animated: boolean,
  sharp: SharpConstructor,
): Sharp {
  const opened = sharp(input, { ...INPUT, animated });
  return moves && frames > 1 ? opened : opened.autoOrient();
}

/** Returns grey samples as a PNG that is black where they are lowest, and white where they are highest. */
async function fullRange(
  input: string | Buffer,
  { space }: Metadata,
  sharp: SharpConstructor,
): Promise<Buffer> {
  const opened = sharp(input, INPUT);
  const { min = 0, max = 0 } = (await opened.stats()).channels[0] ?? {};
  const factor = (space === 'grey16' ? 65_535 : 255) / (max - min || 1);
  const drawn = opened
    .autoOrient()
    .linear(factor, -min * factor)
    .toColourspace(space);
  return drawn.keepXmp().png({ compressionLevel: 0 }).toBuffer();
}

async function isFlat(
  kind: Header['kind'],
  input: string | Buffer,
  { width, height }: Metadata,
  packed: number | undefined,
): Promise<boolean> {
  const isLossless = ['png', 'gif', 'bmp', 'ico', 'jxl'].includes(kind) || packed !== undefined;
  const bytes = packed ?? (typeof input === 'string' ? (await stat(input)).size : input.length);
  return isLossless && bytes < width * height * FLAT_BYTES_PER_PIXEL;
}

/** Treats anything that a decoder throws as a fault of the file, unless it is already an `AppError`. */
export async function decoding<T>(kind: Header['kind'], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    const template = 'The {kind} file is damaged, truncated or of a kind that this server cannot read.';
    const name = kind === 'heif' ? 'AVIF or HEIF' : ACCEPTED[kind];
    throw new AppError('undecodable_image', message(template, { kind: name }), { cause });
  }
}
