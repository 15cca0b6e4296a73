import { Buffer } from 'node:buffer';
import { thumbHashToRGBA } from 'thumbhash';
import { writePng } from '../../codec/decoders/png.ts';
import { remember } from '../../lib/bounded-map.ts';

/** Longer side in pixels. Stretched over a whole picture, it is blurred anyway. */
const SIDE = 8;
/** Enough for some pages of a gallery; creating one takes a millisecond. */
const MOST = 1000;
const drawn = remember(MOST, draw);

/**
 * Returns a blurred preview as a `data:` URL of about 250 characters, from a ThumbHash in Base64, or `null` for a
 * picture with transparent parts, through which the preview would remain visible.
 */
export function placeholderOf(thumbhash: string | null): string | null {
  return thumbhash === null ? null : drawn(thumbhash);
}

function draw(thumbhash: string): string | null {
  const { w, h, rgba } = thumbHashToRGBA(Buffer.from(thumbhash, 'base64'));
  if (rgba.some((value, at) => at % 4 === 3 && value < 255)) return null;
  const scale = SIDE / Math.max(w, h);
  const [width, height] = [Math.max(1, Math.round(w * scale)), Math.max(1, Math.round(h * scale))];
  const pixels = new Uint8ClampedArray(width * height * 4);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const from = 4 * (Math.floor(((y + 0.5) * h) / height) * w + Math.floor(((x + 0.5) * w) / width));
      pixels.set(rgba.subarray(from, from + 4), 4 * (y * width + x));
    }
  }
  const png = writePng({ pixels, width, height, hasAlpha: false, level: 9 });
  return `data:image/png;base64,${png.toString('base64')}`;
}
