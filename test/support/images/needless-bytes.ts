import { inflateSync } from 'node:zlib';

/**
 * Counts the bytes of a stored file outside what a reader of its format needs, by the lists below and without the server's own code. A
 * file whose structure cannot be followed counts whole. Colour profiles count as needed if all their bytes belong to the header, the table or a tag.
 */
export function needlessBytes(file: Buffer, format: string): number {
  try {
    return WALKS[format]?.(file) ?? file.length;
  } catch {
    return file.length;
  }
}

const WALKS: Record<string, (file: Buffer) => number> = { png, gif };

function profile(icc: Buffer): number {
  const used = new Uint8Array(icc.length);
  const count = icc.readUInt32BE(128);
  used.fill(1, 0, 132 + count * 12);
  for (let at = 132; at < 132 + count * 12; at += 12) {
    const name = icc.toString('latin1', at, at + 4);
    if (!/^([rgb]XYZ|[rgbk]TRC|wtpt|bkpt|chad)$/.test(name)) continue;
    const [from, length] = [icc.readUInt32BE(at + 4), icc.readUInt32BE(at + 8)];
    used.fill(1, from, from + length + (-length & 3));
  }
  return used.filter((byte) => byte === 0).length;
}

function png(file: Buffer): number {
  let needless = 0;
  for (let at = 8; ; ) {
    const [size, type] = [file.readUInt32BE(at), file.toString('latin1', at + 4, at + 8)];
    const data = file.subarray(at + 8, at + 8 + size);
    if (type === 'iCCP') {
      const start = data.indexOf(0) + 2;
      const { buffer, engine } = inflateSync(data.subarray(start), { info: true }) as never as {
        buffer: Buffer;
        engine: { bytesWritten: number };
      };
      needless += profile(buffer) + (data.length - start - engine.bytesWritten);
    } else if (type === 'IDAT' || type === 'fdAT') {
      const stream = data.subarray(type === 'IDAT' ? 0 : 4);
      const { engine } = inflateSync(stream, { info: true }) as never as { engine: { bytesWritten: number } };
      needless += stream.length - engine.bytesWritten;
    } else if (!/^(IHDR|PLTE|tRNS|gAMA|cHRM|sRGB|cICP|acTL|fcTL|IEND)$/.test(type)) needless += size + 12;
    at += size + 12;
    if (type === 'IEND') return needless + file.length - at;
  }
}

function gif(file: Buffer): number {
  const table = (packed: number) => (packed & 0x80 ? 3 << ((packed & 7) + 1) : 0);
  let needless = 0;
  const skip = (at: number) => {
    let end = at;
    while (file.readUInt8(end) !== 0) end += file.readUInt8(end) + 1;
    return end + 1;
  };
  for (let at = 13 + table(file.readUInt8(10)); ; ) {
    const label = file.readUInt8(at);
    if (label === 0x3b) return needless + file.length - at - 1;
    if (label === 0x2c) {
      at = skip(at + 11 + table(file.readUInt8(at + 9)));
      continue;
    }
    if (label !== 0x21) throw new Error('no block');
    const end = skip(at + 2);
    const isTime = file[at + 1] === 0xf9 && end - at === 8;
    const isLoop =
      file[at + 1] === 0xff &&
      end - at === 19 &&
      /^(NETSCAPE2|ANIMEXTS1)\.0/.test(file.toString('latin1', at + 3, at + 14));
    if (!isTime && !isLoop) needless += end - at;
    at = end;
  }
}
