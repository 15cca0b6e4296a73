/** The codes that clear the table and that end the data. Entries follow them (TIFF 6.0, section 13). */
const [CLEAR, END] = [256, 257];
const MOST_BITS = 12;

/** Unpacks TIFF's LZW into this many bytes. Returns `null` if the data are damaged or too short. */
export function unpackLzw(packed: Uint8Array, bytes: number): Buffer | null {
  const out = Buffer.alloc(bytes);
  /** Where in `out` the text of each entry begins, and how long it is. */
  const starts = new Uint32Array(1 << MOST_BITS);
  const lengths = new Uint32Array(1 << MOST_BITS);
  lengths.fill(1, 0, CLEAR);
  let [next, bits, held, heldBits, written] = [END + 1, 9, 0, 0, 0];
  let before = -1;
  for (let from = 0; written < bytes; ) {
    while (heldBits < bits) {
      if (from >= packed.length) return null;
      held = ((held << 8) | (packed[from++] ?? 0)) & 0xffffff;
      heldBits += 8;
    }
    heldBits -= bits;
    const code = (held >> heldBits) & ((1 << bits) - 1);
    if (code === END) return null;
    if (code === CLEAR) {
      [next, bits, before] = [END + 1, 9, -1];
      continue;
    }
    if (code > next || (code === next && before < 0)) return null;
    const start = written;
    if (code < CLEAR) out[written++] = code;
    else {
      // The new entry is the previous text and the byte after it, which are already in `out`.
      const length = lengths[code === next ? before : code] ?? 0;
      const at = code === next ? start - (lengths[before] ?? 0) : (starts[code] ?? 0);
      const most = Math.min(bytes, written + length + (code === next ? 1 : 0));
      for (let place = at; written < most; ) out[written++] = out[place++] ?? 0;
    }
    // An entry is the previous text and the first byte of this one. They are adjacent, so it is a range of `out`.
    if (before >= 0 && next < 1 << MOST_BITS) {
      starts[next] = start - (lengths[before] ?? 0);
      lengths[next] = (lengths[before] ?? 0) + 1;
      next++;
    }
    before = code;
    // Codes become a bit longer one code early.
    if (next >= (1 << bits) - 1 && bits < MOST_BITS) bits++;
  }
  return out;
}
