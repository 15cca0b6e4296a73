import { deflateSync, inflateSync } from 'node:zlib';
import { chunksOf, PNG_SIGNATURE, writeChunk } from '../decoders/png-chunks.ts';
import { bareIcc } from './icc.ts';

/** Chunks about colours, and their lengths (PNG, third edition, section 11.3.2). */
const COLOURS: Record<string, number> = { gAMA: 4, cHRM: 32, sRGB: 1, cICP: 4 };
/** Channels by colour type. */
const CHANNELS: Record<number, number> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
/** Rows of more bytes are not looked through. */
const MOST_BYTES = 2 ** 28;

/** Returns the chunks that say what the pixels are, and the pixels, whose stream must end with the last row. */
export function barePng(file: Buffer, keepsExif: boolean): Buffer | null {
  const parts: Buffer[] = [];
  const seen = new Set<string>();
  const streams: Buffer[] = [];
  let head: Buffer | null = null;
  let isBehind = false;
  for (const { type, data } of chunksOf(file)) {
    if (head === null && type !== 'IHDR') return null;
    // Viewers draw the frames of an animation, which others do not see.
    if (['acTL', 'fcTL', 'fdAT'].includes(type)) return null;
    if (type === 'IDAT') {
      if (isBehind) return null;
      streams.push(data);
      continue;
    }
    isBehind = streams.length > 0;
    if (type === 'IEND') {
      const stream = Buffer.concat(streams);
      if (head === null || data.length > 0 || !endsWithPixels(stream, bytesOf(head))) return null;
      return Buffer.concat([
        PNG_SIGNATURE,
        ...parts,
        ...writeChunk('IDAT', stream),
        ...writeChunk(type, data),
      ]);
    }
    const kept = keptData(type, data, head, keepsExif);
    if (kept === undefined) continue;
    // Viewers pass over what says how to show the pixels, and is behind them.
    if (kept === null || seen.has(type) || isBehind) return null;
    if (type === 'IHDR') head = data;
    seen.add(type);
    parts.push(...writeChunk(type, kept));
  }
  return null;
}

/** Returns what is kept of a chunk, `undefined` if nothing, and `null` if it is not as it should be. */
function keptData(
  type: string,
  data: Buffer,
  head: Buffer | null,
  keepsExif: boolean,
): Buffer | null | undefined {
  const colourType = head?.[9] ?? -1;
  if (type === 'IHDR') return data.length === 13 ? data : null;
  // Viewers pass over colours behind any palette, so that none may be left out.
  if (type === 'PLTE') return colourType === 3 && data.length <= 768 ? data : null;
  if (type === 'tRNS')
    return data.length <= (colourType === 3 ? 256 : colourType === 2 ? 6 : 2) ? data : null;
  if (type in COLOURS) return data.length === COLOURS[type] ? data : null;
  if (type === 'iCCP') {
    const icc = bareIcc(inflateSync(data.subarray(data.indexOf(0) + 2), { maxOutputLength: 2 ** 22 }));
    // libpng passes over chunks of less than 92 bytes.
    const level = icc && icc.length < 256 ? 0 : 9;
    return icc && Buffer.concat([Buffer.from('icc\0\0'), deflateSync(icc, { level })]);
  }
  if (type === 'eXIf' && keepsExif) return data;
  return (type.charCodeAt(0) & 0x20) === 0 ? null : undefined;
}

/** Returns the length of all rows with their filters. */
function bytesOf(head: Buffer): number {
  const bits = (CHANNELS[head.readUInt8(9)] ?? Infinity) * head.readUInt8(8);
  const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)];
  const bytes = (columns: number, rows: number) =>
    columns > 0 ? Math.ceil(rows) * (1 + Math.ceil((Math.ceil(columns) * bits) / 8)) : 0;
  if (head[12] === 0) return bytes(width, height);
  // Adam7 draws every eighth pixel, and then again and again the columns and the rows between.
  let sum = bytes(width / 8, height / 8);
  for (let step = 8; step > 1; step /= 2)
    sum += bytes(width / step - 0.5, height / step) + bytes((2 * width) / step, height / step - 0.5);
  return sum;
}

function endsWithPixels(stream: Buffer, bytes: number): boolean {
  if (!(bytes <= MOST_BYTES)) return false;
  const { buffer, engine } = inflateSync(stream, { maxOutputLength: bytes, info: true }) as unknown as {
    buffer: Buffer;
    engine: { bytesWritten: number };
  };
  return buffer.length === bytes && engine.bytesWritten === stream.length;
}
