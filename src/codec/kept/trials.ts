/** A file without the parts that no picture needs. */
export interface Bare {
  file: Buffer;
  /** The file as viewers may draw it that do not believe its head. */
  shown?: Buffer;
  /** None where the data were followed to their end. */
  trials?: () => Iterable<Trial>;
}

/** Copies of a still picture with other bytes at the end of a part of its data. If one is drawn like it, there are bytes behind its pixels. */
export interface Trial {
  picture: Buffer;
  changed: Buffer[];
}

/** Returns the data with that many other bytes before `end`. */
export function withOtherEnd(data: Buffer, count: number, end = data.length): Buffer {
  const changed = Buffer.from(data);
  for (let at = Math.max(0, end - count); at < end; at++) changed[at] = ~changed.readUInt8(at);
  return changed;
}
