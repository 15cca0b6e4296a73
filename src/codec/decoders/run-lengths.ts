import { AppError } from '../../errors.ts';

/**
 * Codes after a zero: the row ends, the picture ends, the position moves. Any other is a number of literal pixels.
 */
const [END_OF_ROW, END, MOVE] = [0, 1, 2];

/**
 * Unpacks the run lengths of a BMP (BI_RLE8 and BI_RLE4) to rows of `stride` bytes. Skipped pixels get index 0.
 * @throws {AppError} `undecodable_image` if the bytes end before the picture.
 */
export function unpackRunLengths(
  packed: Buffer,
  { width, height, depth, stride }: { width: number; height: number; depth: 4 | 8; stride: number },
): Buffer {
  const rows = Buffer.alloc(stride * height);
  let [x, y, at] = [0, 0, 0];
  const paint = (index: number) => {
    // A run may go beyond its row or the picture, where it is not visible.
    if (x < width && y < height) {
      if (depth === 8) rows[y * stride + x] = index;
      else {
        const place = y * stride + (x >> 1);
        rows[place] = (rows[place] ?? 0) | (x & 1 ? index : index << 4);
      }
    }
    x++;
  };
  while (y < height) {
    if (at + 2 > packed.length) {
      // Some writers leave out the end mark.
      if (y >= height - 1) return rows;
      throw damaged();
    }
    const count = packed[at++] ?? 0;
    const value = packed[at++] ?? 0;
    if (count > 0) {
      for (let pixel = 0; pixel < count; pixel++) {
        paint(depth === 8 ? value : pixel & 1 ? value & 15 : value >> 4);
      }
    } else if (value === END_OF_ROW) {
      x = 0;
      y++;
    } else if (value === END) return rows;
    else if (value === MOVE) {
      x += packed[at++] ?? 0;
      y += packed[at++] ?? 0;
    } else {
      const bytes = Math.ceil((value * depth) / 8);
      if (at + bytes > packed.length) throw damaged();
      for (let pixel = 0; pixel < value; pixel++) {
        const byte = packed[at + Math.floor((pixel * depth) / 8)] ?? 0;
        paint(depth === 8 ? byte : pixel & 1 ? byte & 15 : byte >> 4);
      }
      at += bytes + (bytes & 1);
    }
  }
  return rows;
}

function damaged(): AppError {
  return new AppError('undecodable_image', 'The compressed data of the BMP file is damaged or truncated.');
}
