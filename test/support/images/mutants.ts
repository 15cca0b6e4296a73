import { crc32 } from 'node:zlib';
import { createRandom } from '../random.ts';

const SECRET = Buffer.from('<script>a secret of the uploader</script>'.repeat(8));

/** Returns a changed file: bytes flipped, cut, repeated or moved, or something hidden in it, behind it, or in a part of its own. Pure. */
export function mutant(file: Buffer, format: string, seed: number): Buffer {
  const random = createRandom(seed);
  const place = () => Math.floor(random() * file.length);
  const [at, to] = [place(), place()].sort((a, b) => a - b) as [number, number];
  switch (seed % 6) {
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
    const head = Buffer.from([0xff, 0xec, (SECRET.length + 2) >> 8, (SECRET.length + 2) & 0xff]);
    return Buffer.concat([file.subarray(0, 2), head, SECRET, file.subarray(2)]);
  }
  if (format === 'png') {
    const body = Buffer.concat([Buffer.from('prVt'), SECRET]);
    const chunk = Buffer.concat([number(SECRET.length), body, number(crc32(body))]);
    return Buffer.concat([file.subarray(0, 33), chunk, file.subarray(33)]);
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
