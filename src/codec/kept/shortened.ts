/** A file without the parts that no picture needs. */
export interface Bare {
  file: Buffer;
  /**
   * The same file with the data of one picture or mask cut by some bytes, for each. A decoder that draws one of them like `file` shows that
   * there were bytes behind the data. Empty for formats whose data end where they say.
   */
  shortened: () => Iterable<Buffer>;
}

/** How many bytes are cut. Encoders fill up the last few, and decoders read that far ahead. */
export const CUT_BYTES = 12;
