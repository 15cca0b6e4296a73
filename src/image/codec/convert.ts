import { createHash } from 'node:crypto';
import { stat, writeFile } from 'node:fs/promises';
import { AppError } from '../../errors.ts';
import { storageFull } from '../../lib/storage-full.ts';
import type { Format } from '../image.ts';
import { encode, MAX_OUTPUT_SIDE } from './encode.ts';
import { countFrames } from './frames.ts';
import { jpegWithGainMap } from './gain-map.ts';
import { type Header, isLosslessWebp } from './header.ts';
import { heicAsPng } from './heic.ts';
import { readJpegParts } from './jpeg-parts.ts';
import { checkLimits } from './limits.ts';
import { lossesOf } from './losses.ts';
import type { Converted, ConvertJob, InputLimits } from './protocol.ts';
import { loadSharp, type Metadata, type Sharp, type SharpOptions } from './sharp.ts';

const HEIC_REFUSED = 'The file is a HEIC picture, which this server does not take; send it as JPEG.';

/** Lossless pictures below this many bytes a pixel are drawings and screenshots; photos need 1.2 and more. */
const FLAT_BYTES_PER_PIXEL = 0.5;

/**
 * libvips' levels are truncated < error < warning. `warning` would refuse photos that every viewer shows (stray bytes
 * before a marker, odd SOS parameters of some phones); `error` still refuses what is cut short or unreadable.
 */
const INPUT: SharpOptions = { failOn: 'error', limitInputPixels: false };

/**
 * Converts one picture, in this process. The pixels leave upright, never larger than they came, and in sRGB unless the
 * profile is kept. An animation keeps its frames, delays and loop count where the output can hold them, and is not
 * turned by EXIF, which no viewer does either.
 * @throws {AppError} `image_limit`, `undecodable_image`, `storage_full`.
 */
export async function convert(job: ConvertJob, limits: InputLimits): Promise<Converted> {
  const sharp = await loadSharp();
  const header = await decoding(() => sharp(job.input, INPUT).metadata());
  const isHeic = header.format === 'heif' && header.compression === 'hevc';
  if (isHeic && !limits.heic) throw new AppError('not_an_image', HEIC_REFUSED);
  const source = describe(header);
  checkLimits(source, limits);
  const format = job.format === 'auto' ? keptFormat(header) : job.format;
  const animated = source.frames > 1 && (format === 'webp' || format === 'gif') && job.animate !== false;
  const box = {
    width: Math.min(job.maxWidth, MAX_OUTPUT_SIDE[format]),
    height: Math.min(job.maxHeight ?? Number.POSITIVE_INFINITY, MAX_OUTPUT_SIDE[format]),
  };
  const upright = animated ? source : header.autoOrient;
  const scale = Math.min(1, box.width / upright.width, box.height / upright.height);
  const isFlat = await hasFlatSource(job.input, header, source);
  const contents = await contentsOf(job.input, header);
  const wantsGainMap = contents.parts?.gainMap === true && format === 'jpeg' && !job.stripExif;

  const input = isHeic ? await heicAsPng(job.input, header) : job.input;
  const opened = sharp(input, { ...INPUT, animated });
  const turned = animated ? opened : opened.autoOrient();
  const fitted = scale < 1 ? turned.resize({ ...box, fit: 'inside', withoutEnlargement: true }) : turned;
  const encoding = {
    format,
    pixels: source.width * source.height * scale * scale * (animated ? source.frames : 1),
    flat: isFlat && !animated,
    palette: header.isPalette === true && scale === 1,
  };
  const picture = job.stripExif ? fitted : keepMetadata(fitted, header, format);
  const encoded = (flat: boolean) =>
    decoding(() => encode(picture.clone(), { ...encoding, flat }).toBuffer({ resolveWithObject: true }));
  let { data, info } = await encoded(encoding.flat);
  const withGainMap = wantsGainMap ? await jpegWithGainMap(picture) : null;
  if (withGainMap) ({ data, info } = withGainMap);
  if (job.smallest && encoding.flat && format === 'webp' && scale < 1) {
    const lossy = await encoded(false);
    if (lossy.data.length < data.length) ({ data, info } = lossy);
  }
  // libwebp joins equal frames, so that the file itself has to be asked.
  const frames = animated ? ((await sharp(data).metadata()).pages ?? 1) : 1;
  await writeFile(job.output, data, { mode: 0o600 }).catch(storing);
  return {
    format,
    width: info.width,
    height: animated ? (info.pageHeight ?? info.height) : info.height,
    frames,
    size: data.length,
    hash: createHash('sha256').update(data).digest('hex'),
    warnings: lossesOf({
      ...contents,
      header,
      format,
      animated: animated || job.animate === false,
      keeps: !job.stripExif,
      gainMapKept: withGainMap !== null,
    }),
  };
}

/** What the file holds beyond what its decoder is asked for. */
async function contentsOf(path: string, { format, pages = 1 }: Metadata) {
  const kind = format as Header['kind'];
  const { complete } = await countFrames(path, kind, Math.max(pages, 1) + 1);
  return {
    kind,
    complete,
    moves: kind === 'gif' || kind === 'webp',
    frames: pages,
    parts: kind === 'jpeg' ? await readJpegParts(path) : undefined,
  };
}

/** Only webp and gif pages are frames; those of TIFF and HEIF are other pictures. */
function describe({ format, width, height, pages }: Metadata) {
  return { width, height, frames: format === 'webp' || format === 'gif' ? (pages ?? 1) : 1 };
}

function keptFormat({ format, compression }: Metadata): Format {
  if (format === 'heif') return compression === 'av1' ? 'avif' : 'webp';
  return format === 'jpeg' || format === 'png' || format === 'gif' ? format : 'webp';
}

async function hasFlatSource(
  path: string,
  { format }: Metadata,
  { width, height }: { width: number; height: number },
) {
  const lossless =
    format === 'png' || format === 'gif' || (format === 'webp' && (await isLosslessWebp(path)));
  return lossless && (await stat(path)).size < width * height * FLAT_BYTES_PER_PIXEL;
}

/** The output is RGB or grey, so that a profile of another colour space would be false on it; and GIF holds none. */
function keepMetadata(pipeline: Sharp, { space }: Metadata, format: Format): Sharp {
  const withExif = pipeline.keepExif();
  return space === 'cmyk' || format === 'gif' ? withExif : withExif.keepIccProfile();
}

async function decoding<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new AppError('undecodable_image', 'The image is damaged, cut short or of an unknown kind.', {
      cause,
    });
  }
}

function storing(cause: unknown): never {
  throw storageFull(cause, 'There is no space left to convert the image.');
}
