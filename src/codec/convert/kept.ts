import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Format } from '../format.ts';
import { bareFile } from '../kept/bare.ts';
import type { SharpConstructor } from './sharp.ts';
import { INPUT } from './source.ts';

/**
 * Returns a file without the parts that no picture needs. Returns `null` if its structure is not simple, if decoders complain about it
 * or draw it in another way, or if bytes are left over.
 */
export async function keptFile(
  path: string,
  { format, animated, keepsExif }: { format: Format; animated: boolean; keepsExif: boolean },
  sharp: SharpConstructor,
): Promise<Buffer | null> {
  const file = await readFile(path);
  const bare = bareFile(file, format, keepsExif);
  if (!bare || bare.file.length > file.length) return null;
  const drawn = async (picture: Buffer, failOn: 'error' | 'warning', all: boolean) => {
    const pixels = sharp(picture, { ...INPUT, failOn, animated: all })
      .raw()
      .toBuffer();
    return pixels.then((data) => createHash('sha256').update(data).digest('hex')).catch(() => null);
  };
  const shown = await drawn(bare.file, 'warning', animated);
  if (shown === null || shown !== (await drawn(file, 'error', animated))) return null;
  for (const { picture, changed } of bare.trials()) {
    const whole = picture === bare.file ? shown : await drawn(picture, 'warning', false);
    for (const other of changed) if ((await drawn(other, 'warning', false)) === whole) return null;
  }
  return bare.file;
}
