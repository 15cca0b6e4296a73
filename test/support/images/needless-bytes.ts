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

const WALKS: Record<string, (file: Buffer) => number> = { png, gif, jpeg, webp, avif };

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

function jpeg(file: Buffer): number {
  let needless = 0;
  const used = new Map<number, number>();
  let everyBytes = 0;
  for (let at = 2; ; ) {
    if (file[at] !== 0xff) throw new Error('no marker');
    const marker = file.readUInt8(at + 1);
    if (marker === 0xd9) return needless + file.length - at - 2;
    const size = file.readUInt16BE(at + 2);
    const data = file.subarray(at + 4, at + 2 + size);
    at += 2 + size;
    const name = data.toString('latin1', 0, 11);
    if (marker === 0xe2 && name === 'ICC_PROFILE') needless += profile(data.subarray(14));
    else if (marker === 0xe0 && name.startsWith('JFIF')) needless += size - 16;
    else if (![0xc0, 0xc1, 0xc2, 0xc4, 0xdb, 0xdd, 0xda].includes(marker)) needless += size + 2;
    used.set(marker, (used.get(marker) ?? 0) + 1);
    // The distance of restarts is needed by a scan that has some.
    if (marker === 0xdd) everyBytes += size + 2;
    if (marker !== 0xda) continue;
    for (; file[at] !== 0xff || file[at + 1] === 0 || ((file[at + 1] ?? 0) & 0xf8) === 0xd0; at++)
      if (file[at] === 0xff && file[at + 1] === 0xd0) everyBytes = 0;
    needless += everyBytes;
    everyBytes = 0;
    if ((used.get(0xc0) ?? 0) + (used.get(0xc1) ?? 0) + (used.get(0xc2) ?? 0) !== 1) return file.length;
  }
}

function riff(bytes: Buffer): { type: string; data: Buffer }[] {
  const found: { type: string; data: Buffer }[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = bytes.readUInt32LE(at + 4);
    found.push({ type: bytes.toString('latin1', at, at + 4), data: bytes.subarray(at + 8, at + 8 + size) });
    at += 8 + size + (size & 1);
  }
  return found;
}

function webp(file: Buffer): number {
  const chunks = riff(file.subarray(12, 8 + file.readUInt32LE(4)));
  const behind = file.length - 8 - file.readUInt32LE(4);
  return chunks.reduce((sum, { type, data }) => {
    if (type === 'ICCP') return sum + profile(data);
    if (type === 'VP8X') return sum + (((data[0] ?? 0) & 0xc1) === 0 && data.readUIntLE(1, 3) === 0 ? 0 : 4);
    if (type === 'ANMF') {
      const others = riff(data.subarray(16)).filter((one) => !/^(ALPH|VP8 |VP8L)$/.test(one.type));
      return sum + others.reduce((bytes, one) => bytes + one.data.length + 8, 0);
    }
    return /^(ALPH|VP8 |VP8L|ANIM)$/.test(type) ? sum : sum + data.length + 8;
  }, behind);
}

function avif(file: Buffer): number {
  const boxes = (bytes: Buffer) => {
    const found: { type: string; body: Buffer }[] = [];
    for (let at = 0; at < bytes.length; at += bytes.readUInt32BE(at))
      found.push({
        type: bytes.toString('latin1', at + 4, at + 8),
        body: bytes.subarray(at + 8, at + bytes.readUInt32BE(at)),
      });
    return found;
  };
  const needless = (bytes: Buffer, allowed: RegExp) =>
    boxes(bytes).reduce((sum, { type, body }) => (allowed.test(type) ? sum : sum + body.length + 8), 0);
  const top = boxes(file);
  const of = (list: { type: string; body: Buffer }[], type: string) =>
    list.find((one) => one.type === type)?.body ?? Buffer.alloc(0);
  const meta = of(top, 'meta').subarray(4);
  const properties = of(boxes(of(boxes(meta), 'iprp')), 'ipco');
  let sum = needless(file, /^(ftyp|meta|mdat)$/);
  sum +=
    needless(meta, /^(hdlr|pitm|iloc|iinf|iref|iprp)$/) +
    needless(properties, /^(av1C|ispe|pixi|colr|auxC)$/);
  for (const { type, body } of boxes(properties))
    if (type === 'colr' && /^(prof|rICC)/.test(body.toString('latin1', 0, 4)))
      sum += profile(body.subarray(4));
  const items = of(boxes(meta), 'iinf').readUInt16BE(4);
  const data = of(top, 'mdat');
  let frames = 0;
  for (let at = 0; at < data.length; ) {
    const kind = (data.readUInt8(at) >> 3) & 15;
    let [body, size] = [at + 1, 0];
    for (let shift = 0; ; shift += 7) {
      const byte = data.readUInt8(body++);
      size += (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    if (kind === 6 || kind === 3) frames++;
    if (![1, 3, 4, 6].includes(kind)) sum += body + size - at;
    at = body + size;
  }
  return items <= 2 && frames === items ? sum : file.length;
}
