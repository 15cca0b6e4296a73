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
    try {
      yield head;
      for await (const piece of body) {
        file.crc = crc32(piece, file.crc);
        file.size += piece.byteLength;
        yield piece;
      }
    } finally {
      // The reader may have stopped before the first piece.
      await body.cancel().catch(() => {});
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

/** Returns numbers in 2, 4 or 8 bytes each, as the digits of `sizes` say, the lowest byte first. */
function packed(sizes: string, ...numbers: number[]): Buffer {
  const bytes = Buffer.alloc(8 * sizes.length);
  let end = 0;
  for (const [index, number] of numbers.entries()) {
    let rest = number;
    for (let left = Number(sizes[index]); left > 0; left--, rest = Math.floor(rest / 256))
      bytes[end++] = rest;
  }
  return bytes.subarray(0, end);
}

/** Sizes and checksum follow the file. */
function header({ name, stamp }: Written): Buffer {
  const fixed = packed('4222444422', 0x04034b50, VERSION, FLAGS, STORED, stamp, 0, 0, 0, name.length, 0);
  return Buffer.concat([fixed, name]);
}

/** Returns the record after a file. */
function descriptor({ crc, size }: Written): Buffer {
  return packed('4444', 0x08074b50, crc, size, size);
}

function directoryEntry({ name, stamp, crc, size, offset }: Written): Buffer {
  const isFar = offset >= ELSEWHERE;
  const extra = isFar ? packed('228', 1, 8, offset) : Buffer.alloc(0);
  const [version, place] = isFar ? [VERSION_64, ELSEWHERE] : [VERSION, offset];
  return Buffer.concat([
    packed('42222444', 0x02014b50, MADE_BY, version, FLAGS, STORED, stamp, crc, size),
    packed('422222', size, name.length, extra.length, 0, 0, 0),
    packed('44', PERMISSIONS, place),
    name,
    extra,
  ]);
}

/** Returns the end of the directory, preceded by that of ZIP64 if a number needs it. */
function end(count: number, size: number, offset: number): Buffer {
  const is64 = count >= 0xffff || offset + size >= ELSEWHERE;
  const [entries, bytes, place] = is64 ? [0xffff, ELSEWHERE, ELSEWHERE] : [count, size, offset];
  const record = packed('42222442', 0x06054b50, 0, 0, entries, entries, bytes, place, 0);
  return is64 ? Buffer.concat([end64(count, size, offset), record]) : record;
}

function end64(count: number, size: number, offset: number): Buffer {
  return Buffer.concat([
    packed('482244', 0x06064b50, 44, MADE_BY, VERSION_64, 0, 0),
    packed('8888', count, count, size, offset),
    // The offset of that record.
    packed('4484', 0x07064b50, 0, offset + size, 1),
  ]);
}
