import sharp, { type TiffOptions } from 'sharp';

/** Unsigned values of 4 bytes, by tag; bytes where a Buffer is given. */
export type TiffTags = Record<number, number[] | Buffer>;

/** A TIFF file (6.0, little-endian) with one directory, and blocks whose places stand under `placesAt` and `placesAt + 1`. */
export function tiffFile(tags: TiffTags, blocks: readonly Buffer[], placesAt: 273 | 324): Buffer {
  const lengthsAt = placesAt === 273 ? 279 : 325;
  const count = Object.keys(tags).length + 2;
  const pieces: Buffer[] = [];
  let end = 8 + 2 + count * 12 + 4;
  const append = (piece: Buffer): number => {
    pieces.push(piece);
    end += piece.length;
    return end - piece.length;
  };
  const places = blocks.map(append);
  const all: TiffTags = { ...tags, [placesAt]: places, [lengthsAt]: blocks.map(({ length }) => length) };
  const directory = Buffer.alloc(2 + count * 12 + 4);
  directory.writeUInt16LE(count, 0);
  for (const [index, tag] of Object.keys(all)
    .map(Number)
    .sort((a, b) => a - b)
    .entries()) {
    const value = all[tag] ?? [];
    const at = 2 + index * 12;
    const bytes = Buffer.isBuffer(value) ? value : Buffer.from(new Uint32Array(value).buffer);
    directory.writeUInt16LE(tag, at);
    directory.writeUInt16LE(Buffer.isBuffer(value) ? 7 : 4, at + 2);
    directory.writeUInt32LE(value.length, at + 4);
    if (bytes.length > 4) directory.writeUInt32LE(append(bytes), at + 8);
    else bytes.copy(directory, at + 8);
  }
  return Buffer.concat([Buffer.from('II*\0\x08\0\0\0', 'latin1'), directory, ...pieces]);
}

/** A picture as a TIFF file whose tiles have one sample each: red, green, blue and alpha, if the picture has it. */
export async function planarTiff(
  picture: Buffer,
  options: TiffOptions,
  { side = 64, depth = 8 as 8 | 16, extra = 2 } = {},
): Promise<Buffer> {
  const { data, info } = await sharp(picture).raw().toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  const planes: Buffer[][] = [];
  for (let channel = 0; channel < channels; channel++) {
    const plane = Buffer.from(data.filter((_, at) => at % channels === channel));
    const grey = sharp(plane, { raw: { width, height, channels: 1 } });
    const toned = grey.toColourspace(depth === 16 ? 'grey16' : 'b-w');
    const file = toned.tiff({ ...options, tile: true, tileWidth: side, tileHeight: side });
    planes.push(blocksOf(await file.toBuffer()));
  }
  const compression = { none: 1, lzw: 5, deflate: 8 }[String(options.compression)] ?? 1;
  const tags: TiffTags = {
    ...{ 256: [width], 257: [height], 258: Array(channels).fill(depth), 259: [compression], 262: [2] },
    ...{
      277: [channels],
      284: [2],
      317: [options.predictor === 'horizontal' ? 2 : 1],
      322: [side],
      323: [side],
    },
    ...(channels === 4 && { 338: [extra] }),
  };
  return tiffFile(tags, planes.flat(), 324);
}

/** The tiles of a file that sharp has written, as they stand there. */
function blocksOf(file: Buffer): Buffer[] {
  const directory = file.readUInt32LE(4);
  const values = (tag: number): number[] => {
    for (let at = directory + 2; at < directory + 2 + file.readUInt16LE(directory) * 12; at += 12) {
      if (file.readUInt16LE(at) !== tag) continue;
      const [isShort, count] = [file.readUInt16LE(at + 2) === 3, file.readUInt32LE(at + 4)];
      const size = isShort ? 2 : 4;
      const from = count * size > 4 ? file.readUInt32LE(at + 8) : at + 8;
      return Array.from({ length: count }, (_, index) =>
        isShort ? file.readUInt16LE(from + index * 2) : file.readUInt32LE(from + index * 4),
      );
    }
    return [];
  };
  const lengths = values(325);
  return values(324).map((at, index) => file.subarray(at, at + (lengths[index] ?? 0)));
}
