import { createHash } from 'node:crypto';
import { stat, writeFile } from 'node:fs/promises';
import { storageFull } from '../../lib/storage-full.ts';
import { parseApng } from '../decoders/apng.ts';
import { writeApng } from '../decoders/apng-write.ts';
import { takenWith } from '../decoders/exif.ts';
import { hasGainMap } from '../decoders/jpeg-parts.ts';
import { inOnePass, pixelsOf, smallPixelsOf } from '../decoders/pixels.ts';
import { type Format, isFormat } from '../format.ts';
import { MOVING } from '../formats.ts';
import type { Converted, ConvertJob, InputLimits } from '../workers/protocol.ts';
import { drawStrip, type Strip } from './animation.ts';
import { lookOf, type Pixels } from './look.ts';
import { lossesOf } from './losses.ts';
import { loadSharp, type OutputInfo, type Sharp, type SharpConstructor, withGainMaps } from './sharp.ts';
import { decoding, INPUT, openSource, type Source } from './source.ts';
import { privatePartsOf } from './warnings.ts';

/** A picture in its new format. */
interface Made {
  data: Buffer;
  /** Width of one frame. */
  width: number;
  height: number;
  frames: number;
  exifKept: boolean;
  xmpKept: boolean;
  iptcKept: boolean;
  gainMapKept: boolean;
  /** Set if they were decoded already. */
  pixels?: Pixels | null;
}

/** What to make of a picture. */
interface Plan {
  format: Format;
  animated: boolean;
  /** The box that the result must fit into, in pixels. */
  box: { width: number; height: number };
  /** 1 at most. */
  scale: number;
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
  const made = await (byFrames
    ? decoding(source.kind, () => convertFrames(source, plan, sharp))
    : convertWhole(source, plan, job, sharp));
  const { data, width, height, frames } = made;
  await writeFile(job.output, data, { mode: 0o600 }).catch(storing);
  return {
    format,
    width,
    height,
    frames,
    size: data.length,
    hash: createHash('sha256').update(data).digest('hex'),
    look: job.look ? lookOf(made.pixels ?? (await smallPixelsOf(source, sharp))) : null,
    exif: !job.stripExif && made.exifKept && source.header.exif ? takenWith(source.header.exif) : null,
    removed: job.stripExif ? privatePartsOf(source.header) : [],
    warnings: lossesOf({
      ...source,
      ...made,
      format,
      frames: source.frames,
      animated,
      keeps: !job.stripExif,
      sides: { from: animated ? source.header : source.header.autoOrient, to: { width, height } },
      bytes: { from: (await stat(job.input)).size, to: data.length },
    }),
  };
}

function planFor(source: Source, job: ConvertJob): Plan {
  const { header, moves, frames } = source;
  const format = job.format === 'auto' ? keptFormat(source) : job.format;
  const animated = moves && frames > 1 && MOVING.includes(format);
  const box = {
    width: Math.min(job.maxWidth, MAX_OUTPUT_SIDE[format]),
    height: Math.min(job.maxHeight ?? Number.POSITIVE_INFINITY, MAX_OUTPUT_SIDE[format]),
  };
  const upright = animated ? header : header.autoOrient;
  return {
    format,
    animated,
    box,
    scale: Math.min(1, box.width / upright.width, box.height / upright.height),
  };
}

function keptFormat({ kind, header }: Source): Format {
  if (kind === 'heif') return header.compression === 'av1' ? 'avif' : 'webp';
  return isFormat(kind) ? kind : 'webp';
}

/** The path of most pictures: sharp decodes, fits and encodes. */
async function convertWhole(
  source: Source,
  plan: Plan,
  job: ConvertJob,
  sharp: SharpConstructor,
): Promise<Made> {
  const { format, animated, box, scale } = plan;
  const opened = sharp(source.input, { ...INPUT, animated });
  const turned = animated ? opened : opened.autoOrient();
  const fitted = scale < 1 ? turned.resize({ ...box, fit: 'inside', withoutEnlargement: true }) : turned;
  const picture = job.stripExif ? fitted : keepMetadata(fitted, source, format);
  const encoding = encodingOf(source, plan);
  const pixels = inOnePass(source, { ...encoding, animated }, job)
    ? await pixelsOf(picture, source.kind)
    : null;
  const encodable = pixels ? sharp(pixels.data, { raw: pixels }) : picture;
  const encoded = (flat: boolean) =>
    decoding(source.kind, () =>
      encode(encodable.clone(), { ...encoding, flat }).toBuffer({ resolveWithObject: true }),
    );
  const wantsGainMap = source.parts?.gainMap === true && format === 'jpeg' && !job.stripExif;
  const withGainMap = wantsGainMap ? await jpegWithGainMap(picture) : null;
  let { data, info } = withGainMap ?? (await encoded(encoding.flat));
  if (job.smallest && encoding.flat && format === 'webp' && scale < 1) {
    const lossy = await encoded(false);
    if (lossy.data.length < data.length) ({ data, info } = lossy);
  }
  // Read from the file itself, because sharp's input may be a picture that our own code has decoded.
  const { xmp, iptc } = source.header;
  const told = !job.stripExif && (xmp ?? iptc) ? await sharp(data).metadata() : null;
  return {
    data,
    width: info.width,
    height: animated ? (info.pageHeight ?? info.height) : info.height,
    frames: animated ? await framesIn(data, format, sharp) : 1,
    exifKept: format !== 'gif',
    xmpKept: isPlain(source) && told?.xmp !== undefined,
    iptcKept: told?.iptc !== undefined,
    gainMapKept: withGainMap !== null,
    pixels,
  };
}

/** Handles animations that sharp cannot read or write: draws all frames, and then encodes them. */
async function convertFrames(source: Source, plan: Plan, sharp: SharpConstructor): Promise<Made> {
  const strip = await stripOf(source, plan, sharp);
  const { width, height, delay, loop, pixels } = strip;
  const data =
    plan.format === 'png'
      ? await writeApng(strip, sharp)
      : await encode(
          sharp(pixels, {
            raw: { width, height: height * delay.length, channels: 4, pageHeight: height },
            limitInputPixels: false,
          }),
          { ...encodingOf(source, plan), motion: { delay, loop } },
        ).toBuffer();
  const frames = await framesIn(data, plan.format, sharp);
  const kept = { exifKept: false, xmpKept: false, iptcKept: false, gainMapKept: false };
  return { data, width, height, frames, ...kept };
}

async function stripOf(
  { animation, input, header }: Source,
  { box, scale }: Plan,
  sharp: SharpConstructor,
): Promise<Strip> {
  const side = (length: number) => Math.max(1, Math.round(length * scale));
  if (animation) {
    return drawStrip(animation, { width: side(animation.width), height: side(animation.height) }, sharp);
  }
  const opened = sharp(input, { ...INPUT, animated: true });
  const fitted = scale < 1 ? opened.resize({ ...box, fit: 'inside', withoutEnlargement: true }) : opened;
  const { data, info } = await fitted.ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const height = info.pageHeight ?? info.height;
  const count = info.height / height;
  const delay = Array.from({ length: count }, (_, index) => header.delay?.[index] ?? 100);
  return { pixels: data, width: info.width, height, delay, loop: header.loop ?? 0 };
}

function encodingOf({ header, isFlat, frames }: Source, { format, animated, scale }: Plan): Encoding {
  return {
    format,
    pixels: header.width * header.height * scale * scale * (animated ? frames : 1),
    flat: isFlat && !animated,
    palette: header.isPalette === true && scale === 1,
  };
}

/** libwebp merges equal frames, so the file itself has to be read. */
async function framesIn(data: Buffer, format: Format, sharp: SharpConstructor): Promise<number> {
  if (format === 'png') return parseApng(data)?.frames.length ?? 1;
  return (await sharp(data).metadata()).pages ?? 1;
}

/** The output is RGB or grey, so a profile of another colour space would be wrong for it. GIF holds no profile. */
function keepMetadata(pipeline: Sharp, source: Source, format: Format): Sharp {
  const { space, xmp, xmpAsString, iptc } = source.header;
  const isTrue = space !== 'cmyk' && format !== 'gif';
  // sharp keeps IPTC only with all other metadata, and libvips writes it only to JPEG.
  if (iptc && format === 'jpeg' && isTrue && isPlain(source))
    return withUprightXmp(pipeline.keepMetadata(), xmpAsString);
  const withExif = pipeline.keepExif();
  const withProfile = isTrue ? withExif.keepIccProfile() : withExif;
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

function storing(cause: unknown): never {
  throw storageFull(cause, 'There is no space left to convert the image.');
}

/** What the encoder settings depend on. */
interface Encoding {
  format: Format;
  /** Pixels of the output, in all frames. */
  pixels: number;
  /** True for few-coloured lossless input (screenshots, drawings): lossy encoders blur its edges. */
  flat: boolean;
  /** True if the input was a PNG with a palette and keeps its size, so that its colours fit into a palette again. */
  palette: boolean;
  /** For frames given as raw pixels: how long each is shown, in ms, and how many times the animation plays. */
  motion?: { delay: number[]; loop: number };
}

/**
 * Maximum side that the encoder can write: libwebp 16,383; libheif and libaom refuse or crawl above 16,384; the
 * others store 16 bits.
 */
const MAX_OUTPUT_SIDE: Record<Format, number> = {
  webp: 16_383,
  avif: 16_384,
  jpeg: 65_535,
  png: 65_535,
  gif: 65_535,
};

/** Adds the encoder. The settings were measured with bench/encoders.ts. */
function encode(pipeline: Sharp, { format, pixels, flat, palette, motion }: Encoding): Sharp {
  switch (format) {
    case 'webp':
      // Effort 4 costs 2.2 times the CPU of 2 for 5 to 9% fewer bytes; effort 0 saves a third of it for 10 to 20% more.
      return pipeline.webp({ quality: 80, effort: 2, lossless: flat, ...motion });
    case 'jpeg':
      // mozjpeg: a quarter fewer bytes for 4 times the CPU, 0.1 s a megapixel. Images are encoded once and served
      // often.
      return pipeline.flatten({ background: '#ffffff' }).jpeg({ quality: 82, mozjpeg: true });
    case 'png':
      if (palette) return pipeline.png({ palette: true, quality: 100, dither: 0, effort: 4 });
      // Row filters save 40% of a photo and cost 40% on a screenshot; with them level 4 is as small as 6.
      return flat
        ? pipeline.png({ compressionLevel: 6 })
        : pipeline.png({ compressionLevel: 4, adaptiveFiltering: true });
    case 'avif':
      // Per megapixel: effort 3 about 400 ms, 1 about 200, 0 about 100; 2 is no smaller than 1.
      return pipeline.avif({ quality: 50, effort: pixels <= 4e6 ? 3 : pixels <= 20e6 ? 1 : 0 });
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
): Promise<{ data: Buffer<ArrayBuffer>; info: OutputInfo } | null> {
  const pipeline = (picture.clone() as WithGainMap).keepGainMap().jpeg({ quality: 82 });
  const made = await withGainMaps(() => pipeline.toBuffer({ resolveWithObject: true })).catch(() => null);
  return made && hasGainMap(made.data) ? made : null;
}
