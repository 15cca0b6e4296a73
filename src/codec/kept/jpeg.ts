import { bareIcc } from './icc.ts';
import { type Bare, withOtherEnd } from './trials.ts';

/** Markers of ITU-T T.81, table B.1. */
const [SOI, EOI, SOS, DQT, DHT, DRI] = [0xd8, 0xd9, 0xda, 0xdb, 0xc4, 0xdd];
const [JFIF, PROFILE, ADOBE] = [0xe0, 0xe2, 0xee];
const PROGRESSIVE = 0xc2;
/** With Huffman codes: baseline, extended and progressive. */
const FRAMES = [0xc0, 0xc1, PROGRESSIVE];
const ICC = 'ICC_PROFILE\0';
/** EXIF and XMP in APP1, and IPTC in APP13. */
const METADATA = /^(225 (Exif\0|http:\/\/ns)|237 Photoshop )/;
const MOST_SCANS = 32;
/** The first marker between parts of a scan; they are numbered from 0. */
const RESTART = Buffer.from([0xff, 0xd0]);
/** Version 1.1, square pixels, no thumbnail. It says that three components are YCbCr, as their names 1, 2 and 3 do without it. */
const JFIF_HEAD = Buffer.from('JFIF\0\x01\x01\0\0\x01\0\x01\0\0', 'latin1');

/** Returns the one frame of a file in grey or YCbCr, the tables, all of which its scans must use, and the profile. */
export function bareJpeg(file: Buffer, keepsExif: boolean): Bare | null {
  const parts: Buffer[] = [];
  const told: Buffer[] = [];
  const profile: Buffer[] = [];
  /** Tables that no scan has used yet, by marker and identifier. */
  const unused = new Set<number>();
  /** How many blocks are between restarts, until a scan has any. */
  const every: Buffer[] = [];
  /** Positions of their data in `parts`. */
  const scans: number[] = [];
  const [coded, quantised] = [new Set<number>(), new Set<number>()];
  let [frame, kind, isNamed, isOther]: [Buffer | null, number, boolean, boolean] = [null, 0, false, false];
  for (let at = 2; ; ) {
    if (file.readUInt8(at) !== 0xff) return null;
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
    if (marker === DQT || marker === DHT) {
      for (const name of namesIn(data, marker)) {
        const key = (marker << 8) | name;
        if (unused.has(key) || (marker === DQT && (quantised.has(name) || name > 3))) return null;
        if (marker === DQT) quantised.add(name);
        unused.add(key);
      }
      parts.push(segment(marker, data));
    } else if (marker === DRI && data.length === 2) every[0] = segment(marker, data);
    else if (FRAMES.includes(marker)) {
      const components = data.readUInt8(5);
      const isUsual = data.readUInt8(0) === 8 && data.readUInt16BE(1) > 0 && [1, 3].includes(components);
      const isNumbered = components === 1 || [1, 2, 3].every((name, index) => data[6 + 3 * index] === name);
      if (frame || !isUsual || !isNumbered || data.length !== 6 + 3 * components) return null;
      [frame, kind] = [data, marker];
      parts.push(segment(marker, data));
    } else if (marker === SOS) {
      const used = frame && tablesOf(data, frame, kind, coded);
      if (!used || scans.length >= MOST_SCANS) return null;
      for (const key of used) unused.delete(key);
      const codes = file.subarray(at, endOfScan(file, at));
      if (codes.includes(RESTART)) parts.push(...every.splice(0));
      scans.push(parts.push(segment(SOS, data), codes) - 1);
      at += codes.length;
    } else if (marker === JFIF && text.startsWith('JFIF\0')) isNamed = true;
    else if (marker === ADOBE && text.startsWith('Adobe')) {
      if (data.readUInt8(11) === 1) isNamed = true;
      else isOther = true;
    } else if (marker === PROFILE && text === ICC) {
      if (data[12] !== profile.length + 1) return null;
      profile.push(data.subarray(14));
    } else if (keepsExif && METADATA.test(`${marker} ${text}`)) {
      // Viewers that turn the picture by EXIF choose one of several, and not all the same.
      if (text.startsWith('Exif') && told.some((one) => one.includes('Exif\0', 4, 'latin1'))) return null;
      told.push(segment(marker, data));
    } else if ((marker & 0xf0) !== 0xe0 && marker !== 0xfe) return null;
  }
  const icc = profile.length > 0 ? bareIcc(Buffer.concat(profile)) : null;
  if (!frame || coded.size !== frame[5] || unused.size > 0 || (profile.length > 0 && !icc)) return null;
  if (isOther && frame[5] === 3) return null;
  const colours = icc ? [segment(PROFILE, Buffer.from(`${ICC}\x01\x01`, 'latin1'), icc)] : [];
  const written = (body: readonly Buffer[]) =>
    Buffer.concat([
      Buffer.from([0xff, SOI]),
      ...(isNamed ? [segment(JFIF, JFIF_HEAD)] : []),
      ...told,
      ...colours,
      ...body,
      Buffer.from([0xff, EOI]),
    ]);
  const whole = written(parts);
  return {
    file: whole,
    *trials() {
      for (const scan of scans) {
        const changed = changedScan(parts[scan] as Buffer, scans.length > 1);
        yield { picture: whole, changed: [() => written(parts.with(scan, changed))] };
      }
    },
  };
}

function segment(marker: number, ...data: Buffer[]): Buffer {
  const body = Buffer.concat(data);
  return Buffer.concat([Buffer.from([0xff, marker, (body.length + 2) >> 8, (body.length + 2) & 0xff]), body]);
}

/** Yields the identifiers of one table or more, which must fill their segment. */
function* namesIn(data: Buffer, marker: number): Generator<number> {
  let at = 0;
  do {
    yield data.readUInt8(at);
    const counts = data.subarray(at + 1, at + 17);
    at += marker === DQT ? 65 : 17 + counts.reduce((sum, count) => sum + count, 0);
  } while (at < data.length);
  if (at > data.length) throw new RangeError('The table does not end.');
}

/**
 * Returns the keys of the tables that a scan uses (section B.2.3), or `null` if its header is wrong or it draws again what another
 * scan has drawn.
 */
function tablesOf(scan: Buffer, frame: Buffer, kind: number, coded: Set<number>): Set<number> | null {
  const count = scan.readUInt8(0);
  if (scan.length !== 4 + 2 * count) return null;
  const [start, bits] = [scan.readUInt8(1 + 2 * count), scan.readUInt8(3 + 2 * count)];
  const used = new Set<number>();
  for (let index = 0; index < count; index++) {
    const [name, codes] = [scan.readUInt8(1 + 2 * index), scan.readUInt8(2 + 2 * index)];
    const at = [6, 9, 12].find((place) => frame[place] === name);
    if (at === undefined || (kind !== PROGRESSIVE && coded.has(name))) return null;
    coded.add(name);
    used.add((DQT << 8) | frame.readUInt8(at + 2));
    // Refining the first coefficients takes no codes.
    if (start === 0 && bits >> 4 === 0) used.add((DHT << 8) | (codes >> 4));
    if (kind !== PROGRESSIVE || start > 0) used.add((DHT << 8) | 0x10 | (codes & 0x0f));
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

/** Returns the scan without its last byte, of which decoders complain before the last scan, or with another one. */
function changedScan(scan: Buffer, isOfSeveral: boolean): Buffer {
  // An escaped byte has a zero behind it, and must not come about.
  const end = scan.at(-1) === 0 && scan.at(-2) === 0xff ? scan.length - 1 : scan.length;
  if (isOfSeveral) return scan.subarray(0, end - 1);
  return scan[end - 1] === 0
    ? Buffer.concat([scan.subarray(0, end - 1), Buffer.from([0xfe])])
    : withOtherEnd(scan.subarray(0, end), 0xff, 1);
}
