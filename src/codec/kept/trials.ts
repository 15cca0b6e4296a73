/** A file without the parts that no picture needs. */
export interface Bare {
  file: Buffer;
  /** The file as viewers may draw it that do not believe its head. */
  shown?: Buffer;
  /** None where the data were followed to their end. */
  trials?: () => Iterable<Trial>;
}

/**
 * A still picture, and for each part of its data a copy with other bytes at the end of that part. If it is drawn like the copy whatever bits
 * `mask` changes, there are bytes behind its pixels.
 */
export interface Trial {
  picture: Buffer;
  changed: ((mask: number) => Buffer)[];
}

/** Returns the data with these bits changed in that many bytes before `end`. */
export function withOtherEnd(data: Buffer, mask: number, count: number, end = data.length): Buffer {
  const changed = Buffer.from(data);
  for (let at = Math.max(0, end - count); at < end; at++) changed[at] = changed.readUInt8(at) ^ mask;
  return changed;
}
