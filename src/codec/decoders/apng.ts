import { chunksOf, PNG_SIGNATURE, writeChunk } from './png-chunks.ts';

/** A parsed animated PNG (PNG, third edition, section 13). */
export interface Apng {
  width: number;
  height: number;
  /** 0: for ever. */
  plays: number;
  frames: ApngFrame[];
  /** Whether the picture for viewers without animation is none of its frames. */
  hidesStill: boolean;
  /** False if announced frames are missing or damaged. */
  complete: boolean;
  /** `IHDR`, and the chunks before the pixels that say how to read them, the first of each kind. */
  header: Buffer;
  settings: Map<string, Buffer>;
}

export interface ApngFrame {
  width: number;
  height: number;
  x: number;
  y: number;
  /** In ms. */
  delay: number;
  /** What happens to its area after it was shown: it stays, is cleared, or is restored. */
  dispose: 'keep' | 'clear' | 'restore';
  /** Whether its pixels are blended with what was there, or replace it. */
  over: boolean;
  data: Buffer[];
}

/** Chunks that apply to all frames of a file, without metadata. */
const SETTINGS = ['PLTE', 'tRNS', 'gAMA', 'cHRM', 'sRGB', 'iCCP', 'cICP', 'sBIT'];
const CONTROL_BYTES = 26;
const DISPOSALS = ['keep', 'clear', 'restore'] as const;
const OVER = 1;

/**
 * Parses an animated PNG. Returns `null` if the file is not animated, so that it is the picture that every viewer
 * shows. A faulty frame ends the animation before it.
 */
export function parseApng(file: Buffer): Apng | null {
  const chunks = chunksOf(file);
  const first = chunks.next().value;
  if (first?.type !== 'IHDR' || first.data.length !== 13) return null;
  const apng: Apng = {
    width: first.data.readUInt32BE(0),
    height: first.data.readUInt32BE(4),
    plays: 0,
    frames: [],
    hidesStill: false,
    complete: false,
    header: first.data,
    settings: new Map(),
  };
  let announced = 0;
  let seen = false;
  let next = 0;
  let current: ApngFrame | null = null;
  for (const { type, data } of chunks) {
    if (type === 'acTL' && !seen && data.length === 8) {
      announced = data.readUInt32BE(0);
      apng.plays = data.readUInt32BE(4);
    } else if (type === 'fcTL') {
      if (data.length !== CONTROL_BYTES || data.readUInt32BE(0) !== next++) break;
      current = readControl(data, apng);
      if (!current || apng.frames.length === announced) break;
      apng.frames.push(current);
    } else if (type === 'IDAT') {
      if (announced === 0) return null;
      seen = true;
      apng.hidesStill = current === null;
      current?.data.push(data);
    } else if (type === 'fdAT') {
      if (!current || data.length < 4 || data.readUInt32BE(0) !== next++) break;
      current.data.push(data.subarray(4));
    } else if (!seen && SETTINGS.includes(type) && !apng.settings.has(type)) apng.settings.set(type, data);
  }
  const broken = apng.frames.findIndex(({ data }) => data.length === 0);
  if (broken >= 0) apng.frames.length = broken;
  apng.complete = apng.frames.length === announced;
  return apng.frames.length > 0 ? apng : null;
}

/** Returns one frame as a separate PNG. */
export function frameAsPng({ header, settings }: Apng, { width, height, data }: ApngFrame): Buffer {
  const own = Buffer.from(header);
  own.writeUInt32BE(width, 0);
  own.writeUInt32BE(height, 4);
  return Buffer.concat([
    PNG_SIGNATURE,
    ...writeChunk('IHDR', own),
    ...[...settings].flatMap(([type, setting]) => writeChunk(type, setting)),
    ...data.flatMap((piece) => writeChunk('IDAT', piece)),
    ...writeChunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Returns `null` if the frame is not within the picture. */
function readControl(data: Buffer, canvas: { width: number; height: number }): ApngFrame | null {
  const [width = 0, height = 0, x = 0, y = 0] = [4, 8, 12, 16].map((at) => data.readUInt32BE(at));
  const dispose = DISPOSALS[data[24] ?? 0];
  const fits = width > 0 && height > 0 && x + width <= canvas.width && y + height <= canvas.height;
  if (!fits || dispose === undefined) return null;
  const delay = Math.round((1000 * data.readUInt16BE(20)) / (data.readUInt16BE(22) || 100));
  return { width, height, x, y, delay, dispose, over: data[25] === OVER, data: [] };
}
