import type { Format } from '../image.ts';
import type { Sharp } from './sharp.ts';

/** What the encoder settings depend on. */
export interface Encoding {
  format: Format;
  /** Pixels of the output, in all frames. */
  pixels: number;
  /** True for few-coloured lossless input (screenshots, drawings): lossy encoders blur its edges. */
  flat: boolean;
  /** True if the input was a PNG with a palette and keeps its size, so that its colours fit into a palette again. */
  palette: boolean;
  /** For frames given as raw pixels: how long each is shown, in ms, and how many times the animation plays. */
  motion?: { delay: number[]; loop: number };
}

/**
 * Maximum side that the encoder can write: libwebp 16,383; libheif and libaom refuse or crawl above 16,384; the
 * others store 16 bits.
 */
export const MAX_OUTPUT_SIDE: Record<Format, number> = {
  webp: 16_383,
  avif: 16_384,
  jpeg: 65_535,
  png: 65_535,
  gif: 65_535,
};

/** Adds the encoder. The settings were measured with bench/encoders.ts. */
export function encode(pipeline: Sharp, { format, pixels, flat, palette, motion }: Encoding): Sharp {
  switch (format) {
    case 'webp':
      // Effort 4 costs 2.2 times the CPU of 2 for 5 to 9% fewer bytes; effort 0 saves a third of it for 10 to 20% more.
      return pipeline.webp({ quality: 80, effort: 2, lossless: flat, ...motion });
    case 'jpeg':
      // mozjpeg: a quarter fewer bytes for 4 times the CPU, 0.1 s a megapixel. Images are encoded once and served
      // often.
      return pipeline.flatten({ background: '#ffffff' }).jpeg({ quality: 82, mozjpeg: true });
    case 'png':
      if (palette) return pipeline.png({ palette: true, quality: 100, dither: 0, effort: 4 });
      // Row filters save 40% of a photo and cost 40% on a screenshot; with them level 4 is as small as 6.
      return flat
        ? pipeline.png({ compressionLevel: 6 })
        : pipeline.png({ compressionLevel: 4, adaptiveFiltering: true });
    case 'avif':
      // Per megapixel: effort 3 about 400 ms, 1 about 200, 0 about 100; 2 is no smaller than 1.
      return pipeline.avif({ quality: 50, effort: pixels <= 4e6 ? 3 : pixels <= 20e6 ? 1 : 0 });
    case 'gif':
      return pipeline.gif({ effort: pixels <= 2e6 ? 7 : 3, ...motion });
  }
}
