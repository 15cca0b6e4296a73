import { readFile } from 'node:fs/promises';
import { assetPath } from '../../assets.ts';
import { once } from '../../lib/once.ts';
import type { Metadata } from '../convert/sharp.ts';
import { damaged } from './bytes.ts';
import { isPlain, toSrgb } from './cicp.ts';
import type { HeifParts } from './heif-boxes.ts';
import { writePng } from './png.ts';
import { divide } from './recolour.ts';

/** The part of libheif's JavaScript interface that is used here, whose own types are wrong. */
interface LibHeif {
  HeifDecoder: new () => HeifDecoder;
}

interface HeifDecoder {
  /** Reads a file, and frees the one before. */
  decode(file: Uint8Array): HeifImage[];
}

interface HeifImage {
  is_primary(): boolean;
  get_width(): number;
  get_height(): number;
  /** Draws upright RGBA into `target`. The callback gets `null` if the picture cannot be decoded. */
  display(target: Picture, done: (drawn: Picture | null) => void): void;
  free(): void;
}

interface Picture {
  data: Uint8ClampedArray<ArrayBuffer>;
  width: number;
  height: number;
}

/**
 * Decodes the main picture of a HEIC file, because the libheif inside sharp has no HEVC decoder. Returns an
 * uncompressed PNG with the colour profile and EXIF, which is then converted like any picture. `cicp`: the codes of its
 * colours, if it has no profile; `premultiplied`: whether they are multiplied by its mask. Takes some twelve bytes a pixel.
 */
export async function heicAsPng(
  path: string,
  { icc, exif, hasAlpha }: Metadata,
  { cicp, premultiplied }: Partial<HeifParts>,
): Promise<Buffer> {
  const images = (await decoder()).decode(await readFile(path));
  try {
    const image = images.find((one) => one.is_primary()) ?? images[0];
    if (!image) throw damaged();
    const [width, height] = [image.get_width(), image.get_height()];
    const target = { data: new Uint8ClampedArray(width * height * 4), width, height };
    const drawn = await new Promise<Picture | null>((resolve) => image.display(target, resolve));
    if (drawn === null) throw damaged();
    if (premultiplied) divide(target.data, 255);
    const pixels = cicp && !isPlain(cicp) ? toSrgb(target.data, cicp) : target.data;
    return writePng({ pixels, width, height, hasAlpha, icc, exif });
  } finally {
    for (const image of images) image.free();
  }
}

/**
 * One decoder for all pictures of a worker, which handles them in sequence: compiling it takes as long as a small
 * picture.
 */
const decoder = once(async () => {
  const { default: load } = await import('libheif-js/libheif-wasm/libheif.js');
  const wasmBinary = await readFile(assetPath('libheif-js/libheif-wasm/libheif.wasm'));
  const { HeifDecoder } = load({ wasmBinary }) as unknown as LibHeif;
  return new HeifDecoder();
});
