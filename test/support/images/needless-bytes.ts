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

const WALKS: Record<string, (file: Buffer) => number> = { jpeg, png, gif, webp, avif };

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

function jpeg(file: Buffer): number {
  let [needless, at, tables] = [0, 2, 0];
  for (;;) {
    if (file[at] !== 0xff) throw new Error('no marker');
    const marker = file.readUInt8(at + 1);
    if (marker === 0xd9) return needless + (file.length - at - 2);
    const size = file.readUInt16BE(at + 2) + 2;
    const text = file.toString('latin1', at + 4, at + 16);
    if (marker === 0xe2 && text === 'ICC_PROFILE\0') needless += profile(file.subarray(at + 18, at + size));
    else if (marker === 0xe0 && text.startsWith('JFIF\0')) needless += size - 18;
    else if (marker === 0xee && text.startsWith('Adobe')) needless += size - 16;
    else if (marker === 0xdb || marker === 0xc4) tables++;
    else if (![0xc0, 0xc1, 0xc2, 0xda, 0xdd].includes(marker)) needless += size;
    at += size;
    if (marker !== 0xda) continue;
    // A scan uses the tables before it.
    if (tables > 2) needless += tables;
    tables = 0;
    while (file[at] !== 0xff || file[at + 1] === 0 || ((file[at + 1] ?? 0) & 0xf8) === 0xd0) {
      if (++at >= file.length) throw new Error('no end');
    }
  }
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

function webp(file: Buffer): number {
  let needless = file.length - 8 - file.readUInt32LE(4);
  const walk = (bytes: Buffer) => {
    for (let at = 0; at < bytes.length; ) {
      const [type, size] = [bytes.toString('latin1', at, at + 4), bytes.readUInt32LE(at + 4)];
      const data = bytes.subarray(at + 8, at + 8 + size);
      if (type === 'ICCP') needless += profile(data);
      else if (type === 'ANMF') walk(data.subarray(16));
      else if (!/^(VP8 |VP8L|VP8X|ALPH|ANIM)$/.test(type)) needless += 8 + size;
      at += 8 + size + (size & 1);
    }
  };
  walk(file.subarray(12));
  return needless;
}

function avif(file: Buffer): number {
  let needless = 0;
  const known =
    /^(ftyp|meta|hdlr|pitm|iloc|iinf|infe|iref|auxl|iprp|ipco|ipma|mdat|av1C|ispe|pixi|colr|irot|imir|clap|auxC|a1op|lsel)$/;
  const inside: Record<string, number> = { meta: 4, iinf: 6, iref: 4, iprp: 0, ipco: 0 };
  const walk = (bytes: Buffer) => {
    let at = 0;
    for (; at < bytes.length; ) {
      const [size, type] = [bytes.readUInt32BE(at), bytes.toString('latin1', at + 4, at + 8)];
      if (size < 8) throw new Error('no box');
      const body = bytes.subarray(at + 8, at + size);
      if (!known.test(type)) needless += size;
      else if (type === 'colr' && body.toString('latin1', 0, 4) !== 'nclx')
        needless += profile(body.subarray(4));
      else if (type === 'mdat') needless += units(body);
      else if (type in inside) walk(body.subarray(inside[type]));
      at += size;
    }
    needless += Math.abs(bytes.length - at);
  };
  walk(file);
  return needless;
}

/** Counts the units of AV1 that hold no picture: metadata, padding and others. */
function units(data: Buffer): number {
  let needless = 0;
  for (let at = 0; at < data.length; ) {
    const head = data.readUInt8(at);
    let [end, size, shift] = [at + 1 + ((head >> 2) & 1), 0, 0];
    for (let byte = 0x80; byte & 0x80; shift += 7) {
      byte = data.readUInt8(end++);
      size += (byte & 0x7f) << shift;
    }
    end += size;
    if (![1, 3, 4, 6].includes((head >> 3) & 15)) needless += end - at;
    at = end;
  }
  return needless;
}
