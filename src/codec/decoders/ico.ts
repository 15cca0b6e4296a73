import { AppError } from '../../errors.ts';
import type { InputLimits } from '../workers/protocol.ts';
import { decodeIconBitmap } from './bmp.ts';
import { writePng } from './png.ts';
import { PNG_SIGNATURE } from './png-chunks.ts';

const ENTRY_BYTES = 16;

/**
 * Returns the largest picture of a Windows icon or cursor as a PNG; of several, the one with the most colours. The
 * others are the same picture in other sizes.
 * @throws {AppError} `undecodable_image`, `image_limit`.
 */
export function iconAsPng(file: Buffer, limits: InputLimits): Buffer {
  const [largest] = entriesOf(file).sort(
    (a, b) => b.width * b.height - a.width * a.height || b.depth - a.depth,
  );
  if (!largest) throw new AppError('undecodable_image', 'The icon is damaged, truncated or empty.');
  const { data } = largest;
  if (data.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) return data;
  return writePng({ ...decodeIconBitmap(data, limits), level: 1 });
}

/** Returns the entries of the directory that the file really contains. */
function entriesOf(file: Buffer) {
  const count = file.length < 6 ? 0 : file.readUInt16LE(4);
  const isIcon = file.length >= 4 && file.readUInt16LE(2) === 1;
  return Array.from({ length: Math.min(count, 256) }, (_, entry) => 6 + entry * ENTRY_BYTES).flatMap((at) => {
    if (at + ENTRY_BYTES > file.length) return [];
    // The size is often wrong, but a picture knows its own end.
    const offset = file.readUInt32LE(at + 12);
    if (offset + ENTRY_BYTES > file.length) return [];
    // A cursor stores its hotspot instead of planes and depth.
    const depth = isIcon ? file.readUInt16LE(at + 6) : 0;
    return [
      {
        width: file[at] || 256,
        height: file[at + 1] || 256,
        depth,
        data: file.subarray(offset),
      },
    ];
  });
}
