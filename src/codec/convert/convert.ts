import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { once } from '../../lib/once.ts';
import { storageFull } from '../../lib/storage-full.ts';
import { parseApng } from '../decoders/apng.ts';
import { writeApng } from '../decoders/apng-write.ts';
import { takenWith } from '../decoders/exif.ts';
import { hasGainMap } from '../decoders/jpeg-parts.ts';
import { inOnePass, pixelsOf, smallPixelsOf } from '../decoders/pixels.ts';
import { type Format, isFormat } from '../format.ts';
import { MOVING } from '../formats.ts';
import type { Converted, ConvertJob, InputLimits, Original } from '../workers/protocol.ts';
import { type Strip, stripOf } from './animation.ts';
import { keptFile } from './kept.ts';
import { MAX_SIDE } from './limits.ts';
import { lookOf, type Pixels } from './look.ts';
import { lossesOf } from './losses.ts';
import { ENCODERS, isLossy, lowered, qualityFor, triesFor } from './quality.ts';
import {
  INPUT,
  inSrgb,
  loadSharp,
  type OutputInfo,
  type Sharp,
  type SharpConstructor,
  withGainMaps,
} from './sharp.ts';
import { decoding, openSource, openUpright, type Source } from './source.ts';
import { losesCredentials, privatePartsOf, tellsPlace } from './warnings.ts';

/** A picture in its new format. */
interface Made {
  data: Buffer;
  /** Width of one frame. */
  width: number;
  height: number;
  /** Of the encoder; `null` if it has none. */
  quality: number | null;
  /** True if its colours were reduced to a palette. */
  palette?: boolean | undefined;
  /** Set if they were decoded already. */
  pixels?: Pixels | null;
}

interface Plan {
  format: Format;
  animated: boolean;
  /** The box that the result must fit into, in pixels. */
  box: { width: number; height: number };
  /** 1 at most. */
  scale: number;
  /** The encoder's quality, if it does not follow from the picture. */
  quality?: number | undefined;
  /** True for WebP without loss. */
  lossless?: boolean;
  /** True for a PNG with a palette. */
  palette?: boolean;
  /** True for a PNG whose row filters are not those that usually suit such a picture. */
  refiltered?: boolean;
  /** True if a drawing must not take three times the CPU: a viewer waits for it, or it is encoded once more. */
  quick: boolean;
}

/**
 * Converts one picture in this process. The result is upright, never larger than the input, and in sRGB unless the
 * profile is kept. An animation keeps its frames, delays and loop count if the output can hold them, and is not
 * rotated by EXIF, as in all viewers.
 * @throws {AppError} `not_an_image`, `image_limit`, `undecodable_image`, `storage_full`.
 */
export async function convert(job: ConvertJob, limits: InputLimits): Promise<Converted> {
  const sharp = await loadSharp();
  const source = await openSource(job.input, limits, sharp);
  const plan = planFor(source, job);
  const { format, animated } = plan;
  const byFrames = animated && (source.animation !== null || format === 'png');
  const drawn = once(() => stripOf(source, plan, sharp));
  const encodedAs = (asked: Plan) =>
    byFrames
      ? decoding(source.kind, async () => convertFrames(source, asked, await drawn(), sharp))
      : convertWhole(source, asked, job, sharp);
  const keptOrNull = once(() => keptAs(source, plan, job, sharp));
  const atOnce = isDense(source, format) ? await keptOrNull() : null;
  let made = atOnce ?? (await encodedAs(plan));
  const kept = made === atOnce || made.data.length >= source.bytes ? await keptOrNull() : null;
  if (kept) made = kept;
  // Instead of a version that is not smaller, the stored file is sent.
  const isOpen = job.quality === undefined && job.smallest !== true;
  for (let tries = triesFor(made, animated), tried = plan; tries > 0 && isOpen; tries--) {
    const smaller = smallerPlan(source, tried, made);
    const again = smaller && (await encodedAs(smaller));
    if (!again || again.data.length >= made.data.length) break;
    [made, tried] = [again, smaller];
  }
  const { data, width, height, quality } = made;
  await writeFile(job.output, data, { mode: 0o600 }).catch((cause) => {
    throw storageFull(cause, 'There is no space left to convert the image.');
  });
  const { exif, ...others } = await sharp(data, INPUT).metadata();
  const told = { ...others, ...(exif && source.readsExif && { exif }) };
  const taken = !job.stripExif && told.exif && source.header.exif ? takenWith(source.header.exif) : null;
  return {
    format,
    width,
    height,
    // libwebp merges equal frames.
    frames: animated ? ((format === 'png' ? parseApng(data)?.frames.length : told.pages) ?? 1) : 1,
    size: data.length,
    hash: createHash('sha256').update(data).digest('hex'),
    original: { format: kindOf(source), size: source.bytes, ...source.upright, kept: kept !== null, quality },
    look: job.look ? lookOf(made.pixels ?? (await smallPixelsOf(source, sharp))) : null,
    // JPEG may have several parts with XMP, of which sharp reads one.
    exif: tellsPlace({ ...told, xmp: data }) ? { ...taken, place: true } : taken,
    removed: job.stripExif ? privatePartsOf(source.header) : [],
    warnings: lossesOf({
      ...source,
      ...made,
      format,
      frames: source.frames,
      animated,
      told: job.stripExif ? null : told,
      gainMapKept: format === 'jpeg' && hasGainMap(data),
      provenanceLost: await losesCredentials(job.input, data),
      sides: { from: source.upright, to: { width, height } },
      bytes: { from: source.bytes, to: data.length },
    }),
  };
}

/**
 * Reports whether a file is a GIF with so few bytes a pixel that no encoder takes fewer: a recording of a screen, which would be encoded
 * for 15 seconds in vain. Of those with four times as many, one became a tenth.
 */
function isDense({ kind, bytes, frames, upright }: Source, format: Format): boolean {
  return kind === 'gif' && format === 'gif' && bytes < 0.01 * frames * upright.width * upright.height;
}

function planFor(source: Source, job: ConvertJob): Plan {
  const { upright, moves, frames } = source;
  const format = job.format === 'auto' ? keptFormat(source) : job.format;
  const animated = moves && frames > 1 && MOVING.includes(format);
  const most = MAX_OUTPUT_SIDE[format] ?? MAX_SIDE;
  const box = { width: Math.min(job.maxWidth, most), height: Math.min(job.maxHeight ?? most, most) };
  return {
    format,
    animated,
    box,
    scale: Math.min(1, box.width / upright.width, box.height / upright.height),
    quality: job.quality,
    quick: job.smallest === true,
  };
}

function kindOf({ kind, header }: Source): Original['format'] {
  if (kind === 'heif') return header.compression === 'av1' ? 'avif' : 'heic';
  return kind;
}

/** An animated AVIF becomes WebP, which keeps its frames. */
function keptFormat(source: Source): Format {
  const kind = kindOf(source);
  const isMovingAvif = kind === 'avif' && source.animation !== null;
  return isFormat(kind) && !isMovingAvif ? kind : 'webp';
}

/** Returns how to encode a picture again that became larger than its file, or `null` if that would not help. */
function smallerPlan(source: Source, plan: Plan, { data, quality }: Made): Plan | null {
  const { format, scale, animated, refiltered } = plan;
  const share = source.bytes / data.length;
  // Scaling down blurs edges, which gives a drawing more colours than it had; rotated only, it may take fewer bytes with the other filters.
  const hasOther = !animated && !refiltered && !encodingOf(source, plan).palette;
  if (share < 1 && format === 'png' && source.kind === 'png' && hasOther)
    return scale < 1 ? { ...plan, palette: true } : { ...plan, refiltered: true };
  if (share >= 1 || quality === null || !isLossy(format)) return null;
  // Few colours and hard edges take fewer bytes without loss.
  if (source.kind === 'gif' && format === 'webp') return { ...plan, lossless: true };
  return { ...plan, quick: true, quality: lowered(quality, share, format, kindOf(source) === format) };
}

/** Returns the file itself without the parts that no picture needs, if it may stay as it is; otherwise `null`. */
async function keptAs(
  source: Source,
  { format, scale, animated }: Plan,
  job: ConvertJob,
  sharp: SharpConstructor,
): Promise<Made | null> {
  const { orientation = 1 } = source.header;
  const isWhole = scale === 1 && source.complete && (animated || source.frames === 1) && orientation === 1;
  // Many viewers do not read the colours of a picture that our own code has to draw.
  const isUsual = typeof source.input === 'string' || source.kind === 'gif' || job.format === 'auto';
  const mayStay = isWhole && isUsual && format === kindOf(source) && (job.stripExif || isPlain(source));
  const pixels = source.upright.width * source.upright.height;
  const asked = { format, frames: animated ? source.frames : 1, keepsExif: !job.stripExif, pixels };
  const data = mayStay ? await keptFile(job.input, asked, sharp) : null;
  return data && { data, ...source.upright, quality: null };
}

/** The path of most pictures: sharp decodes, fits and encodes. */
async function convertWhole(
  source: Source,
  plan: Plan,
  job: ConvertJob,
  sharp: SharpConstructor,
): Promise<Made> {
  const { format, animated, box, scale } = plan;
  const turned = openUpright(source, animated, sharp);
  const fitted = scale < 1 ? turned.resize({ ...box, fit: 'inside', withoutEnlargement: true }) : turned;
  // An animation is not turned, but viewers would turn one frame of it by its EXIF.
  const isFrame = source.moves && source.frames > 1 && !animated;
  const isBare = job.stripExif || (isFrame && (source.header.orientation ?? 1) > 1);
  const picture = isBare ? inSrgb(fitted, source.header) : keepMetadata(fitted, source, format);
  const encoding = encodingOf(source, plan);
  const follows = isLossy(format) && encoding.quality === undefined;
  const isTaken = inOnePass(source, { ...encoding, animated }) && (follows || isBare);
  const pixels = isTaken ? await pixelsOf(picture, source.kind) : null;
  if (follows)
    encoding.quality = await qualityFor(pixels, format, async (sample, quality) => {
      const quick = { ...encoding, quality, pixels: Number.POSITIVE_INFINITY };
      const encoded = await encode(sharp(sample.data, { raw: sample }), quick).toBuffer();
      return sharp(encoded, INPUT).raw().toBuffer();
    });
  const encodable = pixels && isBare ? sharp(pixels.data, { raw: pixels }) : picture;
  const encoded = (flat: boolean) =>
    decoding(source.kind, () =>
      encode(encodable.clone(), { ...encoding, flat }).toBuffer({ resolveWithObject: true }),
    );
  const wantsGainMap = source.parts?.gainMap === true && format === 'jpeg' && !job.stripExif;
  const withGainMap = wantsGainMap ? await jpegWithGainMap(picture, encoding.quality) : null;
  let { data, info } = withGainMap ?? (await encoded(encoding.flat));
  if (job.smallest && encoding.flat && format === 'webp' && scale < 1) {
    const lossy = await encoded(false);
    if (lossy.data.length < data.length) ({ data, info } = lossy);
  }
  return {
    data,
    width: info.width,
    height: animated ? (info.pageHeight ?? info.height) : info.height,
    quality: isLossy(format) && !(format === 'webp' && encoding.flat) ? (encoding.quality ?? null) : null,
    palette: plan.palette,
    pixels,
  };
}

/** Of a delay in ms, and of how often an animation plays. Animated PNG holds more. */
const MOST = 65_535;

/** Handles animations that sharp cannot read or write, from all their frames. */
async function convertFrames(
  source: Source,
  plan: Plan,
  strip: Strip,
  sharp: SharpConstructor,
): Promise<Made> {
  const { width, height, delay, loop, pixels } = strip;
  const data =
    plan.format === 'png'
      ? await writeApng(strip, sharp)
      : await encode(
          sharp(pixels, {
            raw: { width, height: height * delay.length, channels: 4, pageHeight: height },
            limitInputPixels: false,
          }),
          {
            ...encodingOf(source, plan),
            motion: { delay: delay.map((ms) => Math.min(MOST, ms)), loop: Math.min(MOST, loop) },
          },
        ).toBuffer();
  const quality = plan.format === 'webp' && !plan.lossless ? (plan.quality ?? ENCODERS.webp.drawing) : null;
  return { data, width, height, quality };
}

function encodingOf({ header, isFlat, frames }: Source, plan: Plan): Encoding {
  const { format, animated, scale, quality } = plan;
  const flat = isFlat && !animated;
  const pixels = header.width * header.height * scale * scale * (animated ? frames : 1);
  const thorough = format === 'avif' && flat && pixels <= MOST_DRAWN && !plan.quick;
  const drawing = isLossy(format) && (flat || animated) ? ENCODERS[format].drawing : undefined;
  return {
    ...{ format, pixels, thorough },
    flat:
      plan.lossless ?? (flat !== (plan.refiltered === true) && (format !== 'webp' || quality === undefined)),
    palette: plan.palette ?? (header.isPalette === true && scale === 1),
    quality: quality ?? (drawing && thorough ? drawing + THOROUGH_MORE : drawing),
  };
}

/**
 * The output is RGB or grey, so a profile of another colour space would be wrong for it; one of grey is not written with the numbers that
 * it is for, and PNG not with one that lacks its end. GIF holds no profile.
 */
function keepMetadata(pipeline: Sharp, source: Source, format: Format): Sharp {
  const { space, icc, xmp, xmpAsString, iptc } = source.header;
  const isGrey = icc?.toString('latin1', 16, 20) === 'GRAY';
  const isWhole = !icc || (icc.length > 3 && icc.readUInt32BE() === icc.length);
  const isTrue = space !== 'cmyk' && !isGrey && isWhole && format !== 'gif';
  // sharp keeps IPTC only with all other metadata, and libvips writes it only to JPEG.
  if (iptc && format === 'jpeg' && isPlain(source)) {
    const all = pipeline.keepMetadata();
    return withUprightXmp(isTrue ? all : inSrgb(all, source.header).withIccProfile('srgb'), xmpAsString);
  }
  const withExif = pipeline.keepExif();
  const withProfile = isTrue ? withExif.keepIccProfile() : inSrgb(withExif, source.header);
  return xmp && isPlain(source) ? withUprightXmp(withProfile, xmpAsString) : withProfile;
}

/** As in EXIF, because the pixels are already rotated. */
function withUprightXmp(pipeline: Sharp, xmp: string | undefined): Sharp {
  if (xmp === undefined) return pipeline;
  return pipeline.withXmp(xmp.replace(/(tiff:Orientation(?:=["']|>))[2-8]/g, '$11'));
}

/** Returns false if XMP points to parts of the file that are gone: gain maps, motion photos and stereo pictures. */
function isPlain({ parts }: Source): boolean {
  return !parts?.gainMap && !parts?.video && (parts?.pictures ?? 1) === 1;
}

/** What the encoder settings depend on. */
interface Encoding {
  format: Format;
  /** Pixels of the output, in all frames. */
  pixels: number;
  /** True for few-coloured lossless input (screenshots, drawings): lossy encoders blur its edges. */
  flat: boolean;
  /** True for a drawing as AVIF that is encoded once, is viewed often and takes no more than three seconds. */
  thorough: boolean;
  /** True if the input was a PNG with a palette and keeps its size, so that its colours fit into a palette again. */
  palette: boolean;
  /** From 1 to 100, for the formats that have it. If missing, it follows from the picture. */
  quality?: number | undefined;
  /** For frames given as raw pixels: how long each is shown, in ms, and how many times the animation plays. */
  motion?: { delay: number[]; loop: number };
}

/** Maximum side that the encoder can write, if that is less than any input has; libheif and libaom refuse or crawl above theirs. */
const MAX_OUTPUT_SIDE: Partial<Record<Format, number>> = { webp: 16_383, avif: 16_384 };

/** Larger drawings, in pixels, would take more than three seconds as AVIF. */
const MOST_DRAWN = 2.5e6;
/** The quality for which the bytes are spent that such an effort saves. */
const THOROUGH_MORE = 2;

/** Adds the encoder. The comments say what was measured. */
function encode(
  pipeline: Sharp,
  { format, pixels, flat, thorough, palette, quality = 80, motion }: Encoding,
): Sharp {
  switch (format) {
    case 'webp':
      // Effort 4 costs 2.2 times the CPU of 2 for 5 to 9% fewer bytes; effort 0 saves a third of it for 10 to 20% more.
      return pipeline.webp({ quality, effort: 2, lossless: flat, ...motion });
    case 'jpeg':
      // mozjpeg: a quarter fewer bytes for 4 times the CPU, 0.1 s a megapixel. Images are encoded once and served
      // often.
      return pipeline.flatten({ background: '#ffffff' }).jpeg({ quality, mozjpeg: true });
    case 'png':
      if (palette) return pipeline.png({ palette: true, quality: 100, effort: 4 });
      // Row filters save 40% of a photo and cost 40% on a screenshot; with them level 4 is as small as 6.
      return flat
        ? pipeline.png({ compressionLevel: 6 })
        : pipeline.png({ compressionLevel: 4, adaptiveFiltering: true });
    case 'avif':
      // Per megapixel: effort 3 about 400 ms, 1 about 200, 0 about 100; 2 is no smaller than 1.
      // For drawings, tuning by SSIM takes fewer bytes than the default at the same SSIMULACRA2, and effort 4, whose
      // encoder finds what repeats, 5% fewer than 3 for 3 times the CPU.
      return pipeline.avif({
        ...{ quality, effort: pixels <= 4e6 ? 3 : pixels <= 20e6 ? 1 : 0 },
        ...(flat && { tune: 'ssim', ...(thorough && { effort: 4 }) }),
      });
    case 'gif':
      return pipeline.gif({ effort: pixels <= 2e6 ? 7 : 3, ...motion });
  }
}

/** sharp's types do not include it yet. */
interface WithGainMap extends Sharp {
  keepGainMap(): this;
}

/**
 * Returns the picture as a JPEG with the gain map of its source, or `null` if the decoder does not support that kind,
 * such as Apple's from before 2024. The map is rotated and scaled with the picture.
 */
async function jpegWithGainMap(
  picture: Sharp,
  quality = ENCODERS.jpeg.usual,
): Promise<{ data: Buffer<ArrayBuffer>; info: OutputInfo } | null> {
  const pipeline = (picture.clone() as WithGainMap).keepGainMap().jpeg({ quality });
  const made = await withGainMaps(() => pipeline.toBuffer({ resolveWithObject: true })).catch(() => null);
  return made && hasGainMap(made.data) ? made : null;
}
