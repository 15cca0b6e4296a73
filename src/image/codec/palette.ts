/** The colours of a picture with at most 256. */
export interface Palette {
  /** Red, green, blue of each. */
  colours: Buffer;
  /** Alpha of each. */
  alphas: Buffer;
  /** Returns the index of a colour, given as the four bytes of its pixel. */
  index(word: number): number;
}

const MOST = 256;

/** Returns the palette of RGBA pixels, or `null` for more than 256 colours. */
export function paletteOf(pixels: Uint8Array): Palette | null {
  const words = new Uint32Array(pixels.buffer, pixels.byteOffset, pixels.byteLength / 4);
  const places = new Map<number, number>();
  let last = -1;
  for (const word of words) {
    if (word === last) continue;
    last = word;
    if (places.has(word)) continue;
    if (places.size === MOST) return null;
    places.set(word, places.size);
  }
  const bytes = Buffer.from(Uint32Array.from(places.keys()).buffer);
  const colours = Buffer.alloc(places.size * 3);
  const alphas = Buffer.alloc(places.size);
  for (let place = 0; place < places.size; place++) {
    bytes.copy(colours, place * 3, place * 4, place * 4 + 3);
    alphas[place] = bytes[place * 4 + 3] ?? 0;
  }
  return { colours, alphas, index: (word) => places.get(word) ?? 0 };
}
