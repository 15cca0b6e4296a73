import { crc32 } from 'node:zlib';

/** A file of an archive. */
export interface ZipEntry {
  /** Without a path; at most 65,535 bytes of UTF-8. */
  name: string;
  /** Ms since 1970. */
  modified: number;
  body: ReadableStream<Uint8Array>;
}

/** A finished file, as listed in the directory at the end. */
interface Written {
  name: Buffer;
  stamp: number;
  crc: number;
  size: number;
  /** Offset of its header. */
  offset: number;
}

/** Sizes follow the file, because they are not known before; names are UTF-8. */
const FLAGS = 0x0808;
const STORED = 0;
const VERSION = 20;
/** The version with ZIP64. */
const VERSION_64 = 45;
/** Made on Unix, so that the permissions count: a file that everyone may read. */
const MADE_BY = (3 << 8) | VERSION_64;
const PERMISSIONS = 0o100644 * 2 ** 16;
/** Marks a number that is stored in its ZIP64 form. */
const ELSEWHERE = 0xffffffff;
/** The earliest and the latest time that a ZIP can hold. */
const FIRST_TIME = Date.UTC(1980, 0, 1);
const LAST_TIME = Date.UTC(2107, 11, 31, 23, 59, 58);

/**
 * Yields a ZIP file (PKWARE's APPNOTE 6.3) in chunks, without compression, which pictures do not need. Each file is
 * read when it is due, and must be below 4 GiB; the archive may be larger. A reader that stops early must call
 * `return`.
 */
export async function* zipOf(entries: AsyncIterable<ZipEntry>): AsyncGenerator<Uint8Array, void> {
  const written: Written[] = [];
  let offset = 0;
  for await (const { name, modified, body } of entries) {
    const file: Written = {
      name: Buffer.from(name.toWellFormed()),
      stamp: stampOf(modified),
      crc: 0,
      size: 0,
      offset,
    };
    const head = header(file);
    yield head;
    for await (const piece of body) {
      file.crc = crc32(piece, file.crc);
      file.size += piece.byteLength;
      yield piece;
    }
    if (file.size >= ELSEWHERE) throw new RangeError('a file of a ZIP must be below 4 GiB');
    const tail = descriptor(file);
    yield tail;
    offset += head.length + file.size + tail.length;
    written.push(file);
  }
  const directory = written.map(directoryEntry);
  yield* directory;
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  yield end(written.length, size, offset);
}

/** Time and date of MS-DOS, in steps of two seconds, in UTC because a ZIP has no time zone. */
function stampOf(ms: number): number {
  const at = new Date(Math.min(Math.max(ms, FIRST_TIME), LAST_TIME));
  const date = ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate();
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1);
  return date * 2 ** 16 + time;
}

function header({ name, stamp }: Written): Buffer {
  const fixed = Buffer.alloc(30);
  fixed.writeUInt32LE(0x04034b50, 0);
  fixed.writeUInt16LE(VERSION, 4);
  fixed.writeUInt16LE(FLAGS, 6);
  fixed.writeUInt16LE(STORED, 8);
  fixed.writeUInt32LE(stamp, 10);
  fixed.writeUInt16LE(name.length, 26);
  return Buffer.concat([fixed, name]);
}

/** Returns the record after a file. */
function descriptor({ crc, size }: Written): Buffer {
  const fields = Buffer.alloc(16);
  fields.writeUInt32LE(0x08074b50, 0);
  fields.writeUInt32LE(crc, 4);
  fields.writeUInt32LE(size, 8);
  fields.writeUInt32LE(size, 12);
  return fields;
}

function directoryEntry({ name, stamp, crc, size, offset }: Written): Buffer {
  const isFar = offset >= ELSEWHERE;
  const extra = Buffer.alloc(isFar ? 12 : 0);
  if (isFar) {
    extra.writeUInt16LE(1, 0);
    extra.writeUInt16LE(8, 2);
    extra.writeBigUInt64LE(BigInt(offset), 4);
  }
  const fixed = Buffer.alloc(46);
  fixed.writeUInt32LE(0x02014b50, 0);
  fixed.writeUInt16LE(MADE_BY, 4);
  fixed.writeUInt16LE(isFar ? VERSION_64 : VERSION, 6);
  fixed.writeUInt16LE(FLAGS, 8);
  fixed.writeUInt16LE(STORED, 10);
  fixed.writeUInt32LE(stamp, 12);
  fixed.writeUInt32LE(crc, 16);
  fixed.writeUInt32LE(size, 20);
  fixed.writeUInt32LE(size, 24);
  fixed.writeUInt16LE(name.length, 28);
  fixed.writeUInt16LE(extra.length, 30);
  fixed.writeUInt32LE(PERMISSIONS, 38);
  fixed.writeUInt32LE(isFar ? ELSEWHERE : offset, 42);
  return Buffer.concat([fixed, name, extra]);
}

/** Returns the end of the directory, preceded by that of ZIP64 if a number needs it. */
function end(count: number, size: number, offset: number): Buffer {
  const record = Buffer.alloc(22);
  record.writeUInt32LE(0x06054b50, 0);
  const is64 = count >= 0xffff || offset + size >= ELSEWHERE;
  const entries = is64 ? 0xffff : count;
  record.writeUInt16LE(entries, 8);
  record.writeUInt16LE(entries, 10);
  record.writeUInt32LE(is64 ? ELSEWHERE : size, 12);
  record.writeUInt32LE(is64 ? ELSEWHERE : offset, 16);
  return is64 ? Buffer.concat([end64(count, size, offset), record]) : record;
}

function end64(count: number, size: number, offset: number): Buffer {
  const record = Buffer.alloc(56 + 20);
  record.writeUInt32LE(0x06064b50, 0);
  record.writeBigUInt64LE(44n, 4);
  record.writeUInt16LE(MADE_BY, 12);
  record.writeUInt16LE(VERSION_64, 14);
  record.writeBigUInt64LE(BigInt(count), 24);
  record.writeBigUInt64LE(BigInt(count), 32);
  record.writeBigUInt64LE(BigInt(size), 40);
  record.writeBigUInt64LE(BigInt(offset), 48);
  // The offset of that record.
  record.writeUInt32LE(0x07064b50, 56);
  record.writeBigUInt64LE(BigInt(offset + size), 64);
  record.writeUInt32LE(1, 72);
  return record;
}
