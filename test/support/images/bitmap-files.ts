import { QUARTERS } from './images.ts';

/** Ways in which `bitmap` stores the quarters of `images.ts`. */
export interface BitmapForm {
  depth: 1 | 4 | 8 | 16 | 24 | 32;
  topDown?: boolean;
  /** Run lengths, of 4 or 8 bits. */
  packed?: boolean;
  /** Bit fields with alpha in the order of its bytes: the left half is transparent. */
  alpha?: boolean;
  /** The header of OS/2, of 12 bytes. */
  core?: boolean;
}

const [WIDTH, HEIGHT] = [10, 6];

/** A BMP file of 10 x 6 pixels: the quarters; with one bit a pixel, red above and green below. */
export function bitmap(form: BitmapForm): Buffer {
  const { header, palette, rows } = partsOf(form);
  const file = Buffer.alloc(14);
  file.write('BM', 0, 'latin1');
  file.writeUInt32LE(14 + header.length + palette.length + rows.length, 2);
  file.writeUInt32LE(14 + header.length + palette.length, 10);
  return Buffer.concat([file, header, palette, rows]);
}

/** A BMP file of 24 bits of a width that divides by four, from red, green and blue of each pixel. */
export function bitmapOf(rgb: Buffer, width: number, height: number): Buffer {
  const { header } = partsOf({ depth: 24, topDown: true });
  header.writeInt32LE(width, 4);
  header.writeInt32LE(-height, 8);
  const file = Buffer.alloc(14);
  file.write('BM', 0, 'latin1');
  file.writeUInt32LE(54, 10);
  const rows = Buffer.from(rgb);
  for (let at = 0; at < rows.length; at += 3) rows.subarray(at, at + 3).reverse();
  return Buffer.concat([file, header, rows]);
}

/** An icon with a bitmap of 1 x 1 in one colour, and the quarters behind it, of which a mask hides the top row. */
export function icon(form: BitmapForm = { depth: 24 }): Buffer {
  const large = iconBitmap(partsOf(form), HEIGHT);
  const small = iconBitmap({ ...partsOf({ depth: 24 }), rows: Buffer.alloc(4) }, 1, 1);
  return directory([
    { data: small, width: 1, height: 1 },
    { data: large, width: WIDTH, height: HEIGHT },
  ]);
}

/** An icon whose pictures are files of their own. */
export function directory(pictures: { data: Buffer; width: number; height: number }[]): Buffer {
  const head = Buffer.alloc(6 + 16 * pictures.length);
  head.writeUInt16LE(1, 2);
  head.writeUInt16LE(pictures.length, 4);
  let offset = head.length;
  for (const [index, { data, width, height }] of pictures.entries()) {
    const at = 6 + 16 * index;
    head.set([width % 256, height % 256], at);
    head.writeUInt16LE(32, at + 6);
    head.writeUInt32LE(data.length, at + 8);
    head.writeUInt32LE(offset, at + 12);
    offset += data.length;
  }
  return Buffer.concat([head, ...pictures.map(({ data }) => data)]);
}

interface Parts {
  header: Buffer;
  palette: Buffer;
  rows: Buffer;
}

function iconBitmap({ header, palette, rows }: Parts, height: number, width = WIDTH): Buffer {
  const doubled = Buffer.from(header);
  doubled.writeInt32LE(width, 4);
  doubled.writeInt32LE(height * 2, 8);
  const mask = Buffer.alloc(4 * height);
  // The last row of the file is the top one.
  if (height > 1) mask.fill(0xff, 4 * (height - 1));
  return Buffer.concat([doubled, palette, rows, mask]);
}

function partsOf({ depth, topDown = false, packed = false, alpha = false, core = false }: BitmapForm): Parts {
  const order = Array.from({ length: HEIGHT }, (_, y) => (topDown ? y : HEIGHT - 1 - y));
  const quarterAt = (x: number, y: number) => (y < HEIGHT / 2 ? 0 : 2) + (x < WIDTH / 2 ? 0 : 1);
  const indexAt = (x: number, y: number) => (depth === 1 ? quarterAt(x, y) >> 1 : quarterAt(x, y));
  const rows = order.map((y) => {
    const indices = Array.from({ length: WIDTH }, (_, x) => indexAt(x, y));
    if (packed) return packedRow(indices, depth === 4 ? 4 : 8);
    const row = Buffer.alloc(Math.ceil((WIDTH * depth) / 32) * 4);
    for (const [x, index] of indices.entries()) put(row, x, index, { depth, alpha });
    return row;
  });
  if (packed) rows.push(Buffer.from([0, 1]));
  const colours = depth <= 8 ? QUARTERS.slice(0, depth === 1 ? 2 : 4) : [];
  const palette = Buffer.from(colours.flatMap(([r, g, b]) => (core ? [b, g, r] : [b, g, r, 0])));
  // All entries that the depth allows: OS/2's header cannot say that there are fewer.
  const room = core && depth <= 8 ? Buffer.alloc(2 ** depth * 3 - palette.length) : Buffer.alloc(0);
  const header = core
    ? coreHeader(depth)
    : infoHeader({ depth, topDown, packed, alpha, colours: colours.length });
  return { header, palette: Buffer.concat([palette, room]), rows: Buffer.concat(rows) };
}

function put(
  row: Buffer,
  x: number,
  index: number,
  { depth, alpha }: { depth: number; alpha: boolean },
): void {
  const [r, g, b] = QUARTERS[index] ?? QUARTERS[0];
  if (depth <= 8) {
    const at = (x * depth) >> 3;
    row[at] = (row[at] ?? 0) | (index << (8 - depth - ((x * depth) & 7)));
  } else if (depth === 16) row.writeUInt16LE(((r >> 3) << 10) | ((g >> 3) << 5) | (b >> 3), x * 2);
  else
    row.set(alpha ? [r, g, b, x < WIDTH / 2 ? 0 : 255] : [b, g, r, 0].slice(0, depth / 8), (x * depth) / 8);
}

/** One run, and the rest as it is. */
function packedRow(indices: number[], depth: 4 | 8): Buffer {
  const [run = [], rest = []] = [indices.slice(0, 5), indices.slice(5)];
  const [first = 0] = run;
  const bytes = depth === 8 ? rest : [0, 2, 4].map((at) => ((rest[at] ?? 0) << 4) | (rest[at + 1] ?? 0));
  const padding = bytes.length % 2 === 0 ? [] : [0];
  return Buffer.from([
    run.length,
    depth === 8 ? first : first * 17,
    0,
    rest.length,
    ...bytes,
    ...padding,
    0,
    0,
  ]);
}

function coreHeader(depth: number): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt32LE(12, 0);
  for (const [place, value] of [WIDTH, HEIGHT, 1, depth].entries())
    header.writeUInt16LE(value, 4 + place * 2);
  return header;
}

interface InfoFields {
  depth: number;
  topDown: boolean;
  packed: boolean;
  alpha: boolean;
  colours: number;
}

function infoHeader({ depth, topDown, packed, alpha, colours }: InfoFields): Buffer {
  const header = Buffer.alloc(alpha ? 108 : 40);
  header.writeUInt32LE(header.length, 0);
  header.writeInt32LE(WIDTH, 4);
  header.writeInt32LE(topDown ? -HEIGHT : HEIGHT, 8);
  header.writeUInt16LE(1, 12);
  header.writeUInt16LE(depth, 14);
  header.writeUInt32LE(packed ? (depth === 4 ? 2 : 1) : alpha ? 3 : 0, 16);
  header.writeUInt32LE(colours, 32);
  if (alpha) {
    for (const [place, mask] of [0xff, 0xff00, 0xff0000, 0xff000000].entries()) {
      header.writeUInt32LE(mask, 40 + place * 4);
    }
  }
  return header;
}
