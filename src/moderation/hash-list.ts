import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { AppError } from '../errors.ts';
import type { Log } from '../lib/logger.ts';
import { breathe, every, type Repetition } from '../lib/schedule.ts';

/** SHA-256 or MD5, as `sha256sum` and `md5sum` also write them, perhaps after a byte order mark. */
const LINE = /^(?:\xef\xbb\xbf|\\)?([0-9a-f]{64}|[0-9a-f]{32})(?:[\s,;]|$)/i;
/** Of each hash, its first 128 bits are kept: nobody can make two files that share them. */
const WORDS = 4;
/** Digits of an MD5. */
const MD5_LENGTH = 32;
/** Characters of a line that are looked at. */
const LONGEST = 80;
const LOOK_MS = 10_000;

/**
 * Reads hashes of files, one on each line, which take some 34 bytes of memory each. Other lines are skipped. Rejects
 * for a file that has only other lines. `hasMd5`: whether any of them may be an MD5.
 */
export async function readHashList(path: string) {
  let lines = 0;
  let hasMd5 = false;
  for await (const hashes of hashesIn(path)) {
    lines += hashes.length;
    hasMd5 ||= hashes.some(({ length }) => length === MD5_LENGTH);
  }
  // A table that is at most half full, whose slots are found by the hashes themselves.
  const slots = 2 ** Math.ceil(Math.log2(lines * 2 + 2));
  const table = new Uint32Array(slots * WORDS);
  const asked = new Uint32Array(WORDS);

  /** Returns the place of the hash in the table, or `~place` of the free one for it. */
  function placeOf(hash: string): number {
    for (let word = 0; word < WORDS; word++) {
      asked[word] = Number.parseInt(hash.slice(word * 8, word * 8 + 8), 16);
    }
    for (let slot = asked[0] ?? 0; ; slot++) {
      const place = (slot & (slots - 1)) * WORDS;
      const there = table.subarray(place, place + WORDS);
      if (there.every((word) => word === 0)) return ~place;
      if (there.every((word, index) => word === asked[index])) return place;
    }
  }

  let size = 0;
  for await (const hashes of hashesIn(path)) {
    for (const hash of hashes) {
      // The file may have grown meanwhile.
      const place = size < lines ? placeOf(hash) : 0;
      if (place >= 0) continue;
      table.set(asked, ~place);
      size++;
    }
    await breathe();
  }
  if (size === 0 && (await stat(path)).size > 0)
    throw new Error(`${path} has no SHA-256 or MD5 at the start of a line`);
  return {
    ...{ size, hasMd5 },
    /** Reports whether it has a SHA-256 or MD5 in hexadecimal, in microseconds. */
    has: (hash: string) => LINE.test(hash) && placeOf(hash) >= 0,
  };
}

/** Returns the hashes of a file piece by piece. */
async function* hashesIn(path: string): AsyncIterable<string[]> {
  let cut = '';
  const found = (lines: string[]) => lines.flatMap((line) => LINE.exec(line.slice(0, LONGEST))?.[1] ?? []);
  for await (const piece of createReadStream(path, 'latin1')) {
    const lines = (cut + String(piece)).split(/\r?\n/);
    cut = lines.pop()?.slice(0, LONGEST) ?? '';
    yield found(lines);
  }
  yield found([cut]);
}

/**
 * Keeps files out whose hash is in a list of the operator, which is read again when it changes. Rejects if it cannot be read:
 * nothing must be accepted without it.
 */
export async function openHashBlocks(path: string, log: Log) {
  // Before the list: what is written meanwhile is read again.
  let read = (await stat(path)).mtimeMs;
  let list = await readHashList(path);
  log('info', 'blocked hashes read', { hashes: list.size });
  const looking: Repetition = every(
    LOOK_MS,
    async () => {
      const { mtimeMs } = await stat(path);
      if (mtimeMs === read) return;
      list = await readHashList(path);
      read = mtimeMs;
      log('info', 'blocked hashes read', { hashes: list.size });
    },
    (cause) => log('error', 'blocked hashes not read: the list before stays', { cause }),
  );
  return {
    /** Rejects with `forbidden` for a file in the list. `sha256`: where it is known already; `peer`: for the log. */
    async mayUpload(upload: { path: string; sha256: string | undefined; peer: string }): Promise<void> {
      const { path, sha256, peer } = upload;
      const { has, hasMd5 } = list;
      const source = sha256 ?? (await hashOf(path, 'sha256'));
      if (!has(source) && !(hasMd5 && has(await hashOf(path, 'md5')))) return;
      log('info', 'upload in BLOCK_HASHES refused', { source, peer });
      throw new AppError('forbidden', 'This picture was blocked by the operator.');
    },
    stop: () => looking.stop(),
  };
}

async function hashOf(path: string, algorithm: 'sha256' | 'md5'): Promise<string> {
  const hash = createHash(algorithm);
  for await (const piece of createReadStream(path)) hash.update(piece);
  return hash.digest('hex');
}
