import { deflateSync, inflateSync } from 'node:zlib';
import { chunksOf, PNG_SIGNATURE, writeChunk } from '../decoders/png-chunks.ts';
import { bareIcc } from './icc.ts';

/** Chunks about colours, and their lengths (PNG, third edition, section 11.3.2). */
const COLOURS: Record<string, number> = { gAMA: 4, cHRM: 32, sRGB: 1, cICP: 4 };
/** Channels by colour type. */
const CHANNELS: Record<number, number> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
/** Start and step of Adam7's passes, across and down. */
const PASSES = [
  [0, 8, 0, 8],
  [4, 8, 0, 8],
  [0, 4, 4, 8],
  [2, 4, 0, 4],
  [0, 2, 2, 4],
  [1, 2, 0, 2],
  [0, 1, 1, 2],
] as const;
/** Rows of more bytes are not looked through. */
const MOST_BYTES = 2 ** 28;

/** The pixels of a frame, which several chunks may hold. */
interface Frame {
  type: string;
  /** Width and height, 4 bytes each. */
  size: Buffer;
  streams: Buffer[];
}

/** Returns the chunks that say what the pixels are, and the pixels of all frames, whose streams must end with the last row. */
export function barePng(file: Buffer, keepsExif: boolean): Buffer | null {
  const parts: Buffer[] = [];
  const seen = new Set<string>();
  const state: { head: Buffer | null; open: Frame | null } = { head: null, open: null };
  let sequence = 0;
  const numbered = (data: Buffer) => {
    const number = Buffer.alloc(4);
    number.writeUInt32BE(sequence++);
    return Buffer.concat([number, data]);
  };
  for (const { type, data } of chunksOf(file)) {
    const { head, open } = state;
    if (head === null && type !== 'IHDR') return null;
    if (type === 'IDAT' || type === 'fdAT') {
      if (type === 'IDAT' && open === null && !seen.has(type))
        state.open = { type, size: head as Buffer, streams: [data] };
      else if (open?.type === type) open.streams.push(type === 'fdAT' ? data.subarray(4) : data);
      else return null;
      seen.add(type);
      continue;
    }
    if (open && head && open.streams.length > 0) {
      const stream = Buffer.concat(open.streams);
      const bytes = bytesOf(head, open.size.readUInt32BE(0), open.size.readUInt32BE(4));
      if (!endsWithPixels(stream, bytes)) return null;
      parts.push(...writeChunk(open.type, open.type === 'fdAT' ? numbered(stream) : stream));
      state.open = null;
    }
    if (type === 'IEND') {
      const isWhole = seen.has('IDAT') && data.length === 0 && state.open === null;
      return isWhole ? Buffer.concat([PNG_SIGNATURE, ...parts, ...writeChunk(type, data)]) : null;
    }
    if (type === 'fcTL') {
      if (data.length !== 26 || state.open || !seen.has('acTL')) return null;
      parts.push(...writeChunk(type, numbered(data.subarray(4))));
      state.open = { type: seen.has('IDAT') ? 'fdAT' : 'IDAT', size: data.subarray(4, 12), streams: [] };
      continue;
    }
    const kept = keptData(type, data, head, keepsExif);
    if (kept === undefined) continue;
    if (kept === null || seen.has(type)) return null;
    if (type === 'IHDR') state.head = data;
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
  if (type === 'PLTE') return colourType !== 3 ? undefined : data.length <= 768 ? data : null;
  if (type === 'tRNS')
    return data.length <= (colourType === 3 ? 256 : colourType === 2 ? 6 : 2) ? data : null;
  if (type === 'acTL') return data.length === 8 ? data : null;
  if (type in COLOURS) return data.length === COLOURS[type] ? data : null;
  if (type === 'iCCP') {
    const { buffer } = inflateSync(data.subarray(data.indexOf(0) + 2), {
      maxOutputLength: 2 ** 22,
      info: true,
    }) as unknown as { buffer: Buffer };
    const icc = bareIcc(buffer);
    return icc && Buffer.concat([Buffer.from('icc\0\0'), deflateSync(icc, { level: 9 })]);
  }
  if (type === 'eXIf' && keepsExif) return data;
  return (type.charCodeAt(0) & 0x20) === 0 ? null : undefined;
}

/** Returns the length of all rows with their filters. */
function bytesOf(head: Buffer, width: number, height: number): number {
  const bits = (CHANNELS[head.readUInt8(9)] ?? Infinity) * head.readUInt8(8);
  const passes = head.readUInt8(12) === 0 ? [[0, 1, 0, 1] as const] : PASSES;
  return passes.reduce((sum, [left, across, top, down]) => {
    const [columns, rows] = [Math.ceil((width - left) / across), Math.ceil((height - top) / down)];
    return columns > 0 && rows > 0 ? sum + rows * (1 + Math.ceil((columns * bits) / 8)) : sum;
  }, 0);
}

function endsWithPixels(stream: Buffer, bytes: number): boolean {
  if (!(bytes <= MOST_BYTES)) return false;
  const { buffer, engine } = inflateSync(stream, { maxOutputLength: bytes, info: true }) as unknown as {
    buffer: Buffer;
    engine: { bytesWritten: number };
  };
  return buffer.length === bytes && engine.bytesWritten === stream.length;
}
