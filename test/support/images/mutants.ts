import { createRandom } from '../random.ts';
import { withChunk } from './colours.ts';
import { withSegment } from './jpeg-files.ts';

const SECRET = Buffer.from('<script>a secret of the uploader</script>'.repeat(8));

/** Returns a changed file: bytes flipped, cut, repeated or moved, or something hidden in it, behind it, in a part of its own, or behind its pixels. Pure. */
export function mutant(file: Buffer, format: string, seed: number): Buffer {
  const random = createRandom(seed);
  const place = () => Math.floor(random() * file.length);
  const [at, to] = [place(), place()].sort((a, b) => a - b) as [number, number];
  switch (seed % 7) {
    case 0: {
      const changed = Buffer.from(file);
      for (let count = 1 + Math.floor(random() * 4); count > 0; count--)
        changed[place()] = Math.floor(random() * 256);
      return changed;
    }
    case 1:
      return Buffer.concat([file, SECRET]);
    case 2:
      return withPart(file, format);
    case 3:
      return Buffer.concat([file.subarray(0, at), SECRET, file.subarray(at)]);
    case 4:
      return Buffer.concat([file.subarray(0, to), file.subarray(at)]);
    case 5:
      return behindPixels(file, format, Math.floor(random() * 2)) ?? file;
    default:
      return random() < 0.5
        ? file.subarray(0, to)
        : Buffer.concat([withPart(file, format), Buffer.from('PK\x03\x04'), SECRET]);
  }
}

/** Adds a part that readers of the format pass over. */
function withPart(file: Buffer, format: string): Buffer {
  const number = (value: number, little = false) => {
    const bytes = Buffer.alloc(4);
    if (little) bytes.writeUInt32LE(value);
    else bytes.writeUInt32BE(value);
    return bytes;
  };
  if (format === 'jpeg') {
    return withSegment(file, 0xec, SECRET);
  }
  if (format === 'png') {
    return withChunk(file, 'prVt', SECRET);
  }
  if (format === 'gif') {
    const start = 13 + ((file[10] ?? 0) & 0x80 ? 3 << (((file[10] ?? 0) & 7) + 1) : 0);
    const block = Buffer.concat([Buffer.from([0x21, 0xfe, 200]), SECRET.subarray(0, 200), Buffer.from([0])]);
    return Buffer.concat([file.subarray(0, start), block, file.subarray(start)]);
  }
  if (format === 'webp') {
    const chunk = Buffer.concat([Buffer.from('XTRA'), number(SECRET.length, true), SECRET]);
    const body = Buffer.concat([file.subarray(8), chunk]);
    return Buffer.concat([Buffer.from('RIFF'), number(body.length, true), body]);
  }
  return Buffer.concat([file, number(SECRET.length + 8), Buffer.from('free'), SECRET]);
}

const NUMBERS = { big: 'writeUInt32BE', little: 'writeUInt32LE' } as const;

function withNumber(file: Buffer, at: number, value: number, order: keyof typeof NUMBERS): Buffer {
  const changed = Buffer.from(file);
  changed[NUMBERS[order]](value, at);
  return changed;
}

/**
 * Puts the secret behind the last code of the pixels, in front of whatever ends them, with all lengths adapted. `part`: of WebP, the modes of
 * the blocks or their coefficients. Returns `null` for what has none.
 */
export function behindPixels(file: Buffer, format: string, part = 1): Buffer | null {
  const inserted = (at: number) => Buffer.concat([file.subarray(0, at), SECRET, file.subarray(at)]);
  if (format === 'jpeg') return inserted(file.lastIndexOf(Buffer.from([0xff, 0xd9])));
  if (format === 'webp') {
    const at = ['VP8 ', 'VP8L'].map((type) => file.indexOf(type)).find((place) => place > 0);
    if (at === undefined) return null;
    const size = file.readUInt32LE(at + 4);
    const isLossy = file[at + 3] === 0x20;
    const first = isLossy ? file.readUIntLE(at + 8, 3) : 0;
    const longer = Buffer.from(file);
    if (isLossy && part === 0) longer.writeUIntLE(first + (SECRET.length << 5), at + 8, 3);
    const end = isLossy && part === 0 ? at + 18 + (first >> 5) : at + 8 + size;
    const made = Buffer.concat([longer.subarray(0, end), SECRET, longer.subarray(end)]);
    const sized = withNumber(made, at + 4, size + SECRET.length, 'little');
    return withNumber(sized, 4, file.readUInt32LE(4) + SECRET.length, 'little');
  }
  if (format !== 'avif') return null;
  return behindTiles(file);
}

/** Of AVIF with one item and one extent, whose last unit says its size. */
function behindTiles(file: Buffer): Buffer | null {
  const iloc = file.indexOf('iloc') + 4;
  const entry = iloc + (file[iloc] === 0 ? 10 : 12);
  const bases = (file[iloc + 5] ?? 0) >> 4;
  if (file.readUInt16BE(iloc + 6) !== 1 || file[iloc + 4] !== 0x44) return null;
  const base = bases === 4 ? file.readUInt32BE(entry + 2) : 0;
  const [from, length] = [base + file.readUInt32BE(entry + 4 + bases), file.readUInt32BE(entry + 8 + bases)];
  let [at, head, size, body] = [from, from, 0, from];
  for (; at < from + length; at = body + size) {
    [head, body, size] = [at, at + 1, 0];
    for (let shift = 0; ; shift += 7) {
      const byte = file.readUInt8(body++);
      size += (byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
  }
  const long = size + SECRET.length;
  const sizes = Buffer.from([
    (long & 127) | 128,
    ((long >> 7) & 127) | 128,
    ((long >> 14) & 127) | 128,
    long >> 21,
  ]);
  const unit = Buffer.concat([
    file.subarray(head, head + 1),
    sizes,
    file.subarray(body, body + size),
    SECRET,
  ]);
  const grown = unit.length - (body + size - head);
  const start = withNumber(file.subarray(0, head), entry + 8 + bases, length + grown, 'big');
  const mdat = start.lastIndexOf('mdat');
  const sized = withNumber(start, mdat - 4, start.readUInt32BE(mdat - 4) + grown, 'big');
  return Buffer.concat([sized, unit, file.subarray(body + size)]);
}
