import { AppError, message } from '../../errors.ts';
import type { Decoded } from '../convert/animation.ts';
import { checkLimits, MOST_DECODED } from '../convert/limits.ts';
import { INPUT, type SharpConstructor } from '../convert/sharp.ts';
import type { InputLimits } from '../workers/protocol.ts';
import { type Av1Picture, avifOf, fullBox, MASK } from './avif-write.ts';
import { damaged, long } from './bytes.ts';
import { type Box, boxesIn, boxIn, parseHeif } from './heif-boxes.ts';
import { recoloured } from './recolour.ts';

/** Pictures, masks, depths and sound are four. */
const MOST_TRACKS = 16;
/** Properties of a track that its pictures keep, and how many. */
const KEPT = ['av1C', 'colr'];
const MOST_PROPERTIES = 8;

/** What a track of pictures or masks says of itself (ISO/IEC 14496-12, section 8). */
interface Head {
  id: number;
  /** The picture that this one is the mask of. */
  maskOf: number | null;
  trak: Buffer;
  table: Buffer;
  entry: Buffer;
  count: number;
}

/** One sequence of pictures or masks. */
interface Track {
  width: number;
  height: number;
  properties: Box[];
  samples: readonly Buffer[];
  /** For each sample the one with which its decoder has to begin. */
  starts: readonly number[];
  /** In ms. */
  delays: readonly number[];
  /** Number of times it is played; 0: forever. */
  loop: number;
}

/**
 * Reads the frames of an animated AVIF file (AVIF, section 6.3). Each becomes a still picture that holds all samples since the last key frame:
 * libaom shows only the last of several in one piece. So a frame takes as long as all of them, and files are refused whose frames build on too many.
 * @throws {AppError} `image_limit`, `not_an_image`; anything else if it is damaged.
 */
export async function decodeAvis(
  file: Buffer,
  limits: InputLimits,
  sharp: SharpConstructor,
): Promise<Decoded> {
  const traks = boxesIn(boxIn(file, 'moov')).filter(({ type }) => type === 'trak');
  const heads = [...traks.take(MOST_TRACKS)].flatMap(({ body }) => headOf(body) ?? []);
  const first = heads.find(({ maskOf }) => maskOf === null);
  if (!first || first.count === 0) throw damaged();
  const { count } = first;
  const mask = heads.find((one) => one.maskOf === first.id && one.count === count);
  const main = trackOf(first, file, limits);
  const tracks = mask ? [main, trackOf(mask, file, limits)] : [main];
  // Browsers turn a mask like its picture, first by one and then by the other.
  const turning = ['irot', 'imir'].map((type) => ({ type, body: boxIn(first.entry.subarray(78), type) }));
  for (const { properties } of tracks) properties.push(...turning.filter(({ body }) => body.length > 0));
  const { delays, loop } = main;
  const isTurned = ((turning[0]?.body[0] ?? 0) & 1) === 1;
  const [width, height] = isTurned ? [main.height, main.width] : [main.width, main.height];
  const isMultiplied = boxIn(boxIn(first.trak, 'tref'), 'prem').length > 0;
  const pictureOf = (frame: number) => {
    const pictures = tracks.map((track) => pictureAt(track, frame));
    return avifOf(pictures, isMultiplied);
  };
  const still = pictureOf(0);
  const parts = parseHeif(still);

  async function* seen() {
    tracks.forEach(checkWork);
    const header = await sharp(still, INPUT).metadata();
    const colours = { ...parts, cicp: header.icc ? null : parts.cicp };
    for (let frame = 0; frame < count; frame++) {
      const picture = pictureOf(frame);
      const drawn = await recoloured(picture, header, colours, sharp);
      const opened = sharp(drawn ?? picture, INPUT)
        .toColourspace('srgb')
        .ensureAlpha();
      // libheif refuses a picture of another size than its file says.
      yield { pixels: await opened.raw({ depth: 'uchar' }).toBuffer(), delay: delays[frame] ?? 0 };
    }
  }
  return {
    ...(await coverOf(file, { width, height }, still, sharp)),
    frames: count,
    animation: count > 1 ? { width, height, count, loop, frames: seen } : null,
  };
}

/** Returns the file as the still picture beside its frames if that is the first of them, and the metadata of that picture. */
async function coverOf(
  file: Buffer,
  { width, height }: Pick<Track, 'width' | 'height'>,
  first: Buffer,
  sharp: SharpConstructor,
): Promise<Pick<Decoded, 'still' | 'told'>> {
  const renamed = Buffer.concat([file.subarray(0, 8), Buffer.from('avif'), file.subarray(12)]);
  const small = { width: 64, height: 64, fit: 'fill' } as const;
  const look = (input: Buffer) => sharp(input, INPUT).resize(small).ensureAlpha().raw().toBuffer();
  try {
    const { exif, xmp, ...sides } = await sharp(renamed, INPUT).metadata();
    const fits = sides.width === width && sides.height === height;
    const isFirst = fits && (await look(renamed)).equals(await look(first));
    return { still: isFirst ? renamed : first, told: { ...(exif && { exif }), ...(xmp && { xmp }) } };
  } catch {
    return { still: first };
  }
}

function checkWork({ width, height, starts }: Track): void {
  const frames = starts.reduce((sum, start, frame) => sum + frame - start + 1, 0);
  if (frames * width * height <= MOST_DECODED) return;
  const template =
    'The {frames} frames of the animated AVIF picture build on each other, which takes this server too long to decode; send it as WebP, GIF or animated PNG, or with more key frames.';
  throw new AppError('image_limit', message(template, { frames: starts.length }));
}

function pictureAt({ width, height, properties, samples, starts }: Track, frame: number): Av1Picture {
  return {
    data: Buffer.concat(samples.slice(starts[frame], frame + 1)),
    properties: [{ type: 'ispe', body: fullBox(long(width), long(height)) }, ...properties],
  };
}

/** Returns `null` for a track of anything but AV1, such as sound, and for one of depths. Reads no tables, because there may be many tracks. */
function headOf(trak: Buffer): Head | null {
  const media = boxIn(trak, 'mdia');
  const table = boxIn(boxIn(media, 'minf'), 'stbl');
  const entry = [...boxesIn(boxIn(table, 'stsd').subarray(8))].find(({ type }) => type === 'av01')?.body;
  if (!entry) return null;
  const isMask = boxIn(media, 'hdlr').toString('latin1', 8, 12) === 'auxv';
  if (isMask && boxIn(entry.subarray(78), 'auxi').toString('latin1', 4) !== MASK) return null;
  return {
    id: numbersIn(boxIn(trak, 'tkhd'))[2],
    maskOf: isMask ? boxIn(boxIn(trak, 'tref'), 'auxl').readUInt32BE(0) : null,
    ...{ trak, table, entry },
    count: boxIn(table, 'stsz').readUInt32BE(8),
  };
}

function trackOf({ maskOf, trak, table, entry, count }: Head, file: Buffer, limits: InputLimits): Track {
  const [width, height] = [entry.readUInt16BE(24), entry.readUInt16BE(26)];
  checkLimits({ width, height, frames: count }, limits);
  const kept = boxesIn(entry.subarray(78)).filter(({ type }) => KEPT.includes(type));
  const properties = [...kept.take(MOST_PROPERTIES)];
  if (maskOf !== null) properties.push({ type: 'auxC', body: fullBox(Buffer.from(MASK, 'latin1')) });
  const [, , scale] = numbersIn(boxIn(boxIn(trak, 'mdia'), 'mdhd'));
  return {
    ...{ width, height, properties },
    samples: samplesIn(table, count, file),
    starts: startsIn(boxIn(table, 'stss'), count),
    delays: delaysIn(boxIn(table, 'stts'), count).map((delay) => Math.round((delay * 1000) / scale)),
    loop: loopOf(boxIn(boxIn(trak, 'edts'), 'elst'), numbersIn(boxIn(trak, 'tkhd'))[4]),
  };
}

/** Returns the numbers of a header, of which the times and durations have 64 bits in version 1. */
function numbersIn(head: Buffer) {
  let at = 4;
  const long = () => {
    at += 4;
    return head.readUInt32BE(at - 4);
  };
  const time = () => (head[0] === 1 ? long() * 2 ** 32 : 0) + long();
  return [time(), time(), long(), long(), time()] as const;
}

/** Returns the samples, which are parts of the file and together no larger (sections 8.6.1 and 8.7). */
function samplesIn(table: Buffer, count: number, file: Buffer): Buffer[] {
  const sizes = boxIn(table, 'stsz');
  const runs = boxIn(table, 'stsc');
  const [shortPlaces, longPlaces] = [boxIn(table, 'stco'), boxIn(table, 'co64')];
  const same = sizes.readUInt32BE(4);
  const samples: Buffer[] = [];
  let [left, run, chunk] = [file.length, 0, 0];
  while (samples.length < count) {
    let at =
      longPlaces.length > 0
        ? Number(longPlaces.readBigUInt64BE(8 + 8 * chunk))
        : shortPlaces.readUInt32BE(8 + 4 * chunk);
    chunk++;
    if (run + 1 < runs.readUInt32BE(4) && runs.readUInt32BE(20 + 12 * run) === chunk) run++;
    for (let some = runs.readUInt32BE(12 + 12 * run); some > 0 && samples.length < count; some--) {
      const size = same || sizes.readUInt32BE(12 + 4 * samples.length);
      left -= size;
      if (left < 0) throw damaged();
      samples.push(file.subarray(at, at + size));
      at += size;
    }
  }
  return samples;
}

/** Returns for each sample the last key frame up to it. Without a list of them, each is one (section 8.6.2). */
function startsIn(list: Buffer, count: number): number[] {
  if (list.length === 0) return Array.from({ length: count }, (_, sample) => sample);
  const starts = new Array<number>(count).fill(0);
  for (let entry = 0; entry < list.readUInt32BE(4); entry++) {
    const sample = list.readUInt32BE(8 + 4 * entry) - 1;
    if (sample >= 0 && sample < count) starts[sample] = sample;
  }
  for (let sample = 1; sample < count; sample++) starts[sample] ||= starts[sample - 1] as number;
  return starts;
}

/** Returns how long each sample is shown, in the time scale of its track (section 8.6.1.2). */
function delaysIn(list: Buffer, count: number): number[] {
  const delays: number[] = [];
  for (let at = 8; delays.length < count; at += 8) {
    const some = Math.min(list.readUInt32BE(at), count - delays.length);
    for (let sample = 0; sample < some; sample++) delays.push(list.readUInt32BE(at + 4));
  }
  return delays;
}

/** Returns how many times a track is played (section 8.6.6, with the flag of repeated edits); 0: forever, as without edits. */
function loopOf(edits: Buffer, duration: number): number {
  if (edits.length === 0) return 0;
  if (((edits[3] ?? 0) & 1) === 0) return 1;
  const once = edits[0] === 1 ? Number(edits.readBigUInt64BE(8)) : edits.readUInt32BE(8);
  const isEndless = duration === 2 ** 32 - 1 || duration === 2 ** 64;
  return isEndless || once === 0 ? 0 : Math.min(65_535, Math.ceil(duration / once));
}
