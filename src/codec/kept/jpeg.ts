import { bareIcc } from './icc.ts';

/** Markers of ITU-T T.81, table B.1. */
const [SOI, EOI, SOS, DQT, DHT, DRI] = [0xd8, 0xd9, 0xda, 0xdb, 0xc4, 0xdd];
/** Baseline, extended and progressive, with Huffman codes: what browsers show. */
const FRAMES = [0xc0, 0xc1, 0xc2];
const PROGRESSIVE = 0xc2;
const ICC = 'ICC_PROFILE\0';
/** Most of a profile that one segment holds. */
const ICC_BYTES = 65_519;

const segment = (marker: number, ...data: Buffer[]) => {
  const length = 2 + data.reduce((sum, { length }) => sum + length, 0);
  return Buffer.concat([Buffer.from([0xff, marker, length >> 8, length & 0xff]), ...data]);
};

/** Tables that were defined and not yet written, by class and number. */
type Tables = Map<number, Buffer>;

/**
 * Returns the frame, its scans, and the tables that they use, each before its first scan; of application data, JFIF and Adobe's
 * colour transform, the colour profile, and EXIF, XMP and IPTC if they are kept.
 */
export function bareJpeg(file: Buffer, keepsExif: boolean): Buffer | null {
  const parts: Buffer[] = [];
  const profile: Buffer[] = [];
  const quantisation: Tables = new Map();
  const codes: Tables = new Map();
  let frame: Buffer | null = null;
  let isProgressive = false;
  for (let at = 2; ; ) {
    if (file[at] !== 0xff) return null;
    const marker = file.readUInt8(at + 1);
    if (marker === 0xff) {
      at++;
      continue;
    }
    if (marker === EOI) break;
    const size = file.readUInt16BE(at + 2);
    const data = file.subarray(at + 4, at + 2 + size);
    if (size < 2 || data.length !== size - 2) return null;
    at += 2 + size;
    const text = data.toString('latin1', 0, 12);
    if (marker === DQT) {
      if (!readTables(data, quantisation, (head) => 1 + 64 * (head >> 4 ? 2 : 1))) return null;
    } else if (marker === DHT) {
      if (
        !readTables(
          data,
          codes,
          (_, rest) => 17 + rest.subarray(1, 17).reduce((sum, count) => sum + count, 0),
        )
      )
        return null;
    } else if (marker === DRI && size === 4) parts.push(segment(DRI, data));
    else if (FRAMES.includes(marker)) {
      if (frame || size !== 8 + 3 * (data[5] ?? 0)) return null;
      frame = data;
      isProgressive = marker === PROGRESSIVE;
      parts.push(segment(marker, data));
    } else if (marker === SOS) {
      const scan = frame && tablesOf(data, frame, isProgressive);
      if (!scan) return null;
      parts.push(
        ...take(DQT, quantisation, scan.quantisation),
        ...take(DHT, codes, scan.codes),
        segment(SOS, data),
      );
      const end = endOfScan(file, at);
      parts.push(file.subarray(at, end));
      at = end;
    } else if (marker === 0xe0 && text.startsWith('JFIF\0') && data.length >= 14) {
      // Without its thumbnail.
      parts.push(segment(marker, data.subarray(0, 12), Buffer.alloc(2)));
    } else if (marker === 0xee && text.startsWith('Adobe') && data.length >= 12) {
      parts.push(segment(marker, data.subarray(0, 12)));
    } else if (marker === 0xe2 && text === ICC) {
      if (data[12] !== profile.length + 1) return null;
      profile.push(data.subarray(14));
    } else if (keepsExif && (marker === 0xe1 || marker === 0xed)) parts.push(segment(marker, data));
    else if ((marker & 0xf0) !== 0xe0 && marker !== 0xfe) return null;
  }
  const icc = profile.length > 0 ? bareIcc(Buffer.concat(profile)) : null;
  if (!frame || (profile.length > 0 && (!icc || icc.length > ICC_BYTES))) return null;
  const colours = icc ? [segment(0xe2, Buffer.from(`${ICC}\x01\x01`, 'latin1'), icc)] : [];
  const first = parts[0]?.[1] === 0xe0 ? 1 : 0;
  return Buffer.concat([
    Buffer.from([0xff, SOI]),
    ...parts.slice(0, first),
    ...colours,
    ...parts.slice(first),
    Buffer.from([0xff, EOI]),
  ]);
}

/** Reads the tables of a segment, which must end with one. */
function readTables(data: Buffer, tables: Tables, lengthOf: (head: number, rest: Buffer) => number): boolean {
  for (let at = 0; at < data.length; ) {
    const length = lengthOf(data.readUInt8(at), data.subarray(at));
    if (at + length > data.length) return false;
    tables.set(data.readUInt8(at) & 0x1f, data.subarray(at, at + length));
    at += length;
  }
  return true;
}

/** Returns the segment with those tables, unless they were written before. */
function take(marker: number, tables: Tables, wanted: readonly number[]): Buffer[] {
  const found = [...new Set(wanted)].flatMap(
    (key) => [...tables].find(([one]) => (marker === DQT ? one & 0x0f : one) === key) ?? [],
  );
  const written = found.filter((part): part is Buffer => Buffer.isBuffer(part));
  for (const [key, table] of tables) if (written.includes(table)) tables.delete(key);
  return written.length > 0 ? [segment(marker, ...written)] : [];
}

/** Returns the numbers of the tables that a scan uses (section B.2.3), or `null` if its header is wrong. */
function tablesOf(scan: Buffer, frame: Buffer, isProgressive: boolean) {
  const count = scan.readUInt8(0);
  if (scan.length !== 4 + 2 * count) return null;
  const [start, bits] = [scan.readUInt8(1 + 2 * count), scan.readUInt8(3 + 2 * count)];
  const used = { quantisation: [] as number[], codes: [] as number[] };
  for (let index = 0; index < count; index++) {
    const [name, tables] = [scan.readUInt8(1 + 2 * index), scan.readUInt8(2 + 2 * index)];
    for (let at = 6; at < frame.length; at += 3)
      if (frame[at] === name) used.quantisation.push(frame.readUInt8(at + 2));
    // Refining the first coefficients takes no codes.
    if (start === 0 && bits >> 4 === 0) used.codes.push(tables >> 4);
    if (!isProgressive || start > 0) used.codes.push(0x10 | (tables & 0x0f));
  }
  return used;
}

/** Returns the position of the next marker that is neither a restart nor an escaped byte. */
function endOfScan(file: Buffer, from: number): number {
  for (let at = file.indexOf(0xff, from); at >= 0; at = file.indexOf(0xff, at + 2)) {
    const next = file.readUInt8(at + 1);
    if (next !== 0 && (next < 0xd0 || next > 0xd7)) return at;
  }
  throw new RangeError('The scan does not end.');
}
