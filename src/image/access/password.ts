import { scrypt, timingSafeEqual } from 'node:crypto';
import { createSemaphore } from '../../lib/semaphore.ts';
import type { RandomBytes } from '../records/ids.ts';

/** Maximum length of a password, in bytes of UTF-8. */
export const MAX_PASSWORD_BYTES = 1024;

/** 32 MiB and some 70 ms each: the OWASP Password Storage Cheat Sheet's N = 2^15, r = 8 (there with p = 3). */
const COST_LOG2 = 15;
const BLOCK_SIZE = 8;
const PARALLELISM = 1;
const SALT_BYTES = 16;
const HASH_BYTES = 32;

/** Number of hashes computed at once, so that a flood of guesses takes neither all memory nor all cores. */
const MAX_RUNNING = 2;
const MAX_WAITING = 32;

/** Hashes passwords with scrypt, a few at a time. `costLog2`: 1 more doubles the time and memory of a new hash. */
export function createPasswordHasher(random: RandomBytes, { costLog2 = COST_LOG2 } = {}) {
  const semaphore = createSemaphore(MAX_RUNNING, {
    maxWaiting: MAX_WAITING,
    message: 'Too many passwords are being checked; try again in a moment.',
  });
  return {
    /** Returns a salted hash with its parameters: `scrypt$15$8$1$<salt>$<hash>`. Rejects with `busy` under a flood. */
    async hash(password: string): Promise<string> {
      const salt = Buffer.from(random(SALT_BYTES));
      const key = await semaphore(() => derive(typed(password), salt, costLog2, BLOCK_SIZE, PARALLELISM));
      const parameters = [costLog2, BLOCK_SIZE, PARALLELISM].join('$');
      return `scrypt$${parameters}$${salt.toString('base64url')}$${key.toString('base64url')}`;
    },

    /** Reports whether the password matches the hash, in constant time. Rejects with `busy` under a flood. */
    async verify(password: string, encoded: string): Promise<boolean> {
      const [scheme, cost, blockSize, parallelism, salt = '', hash = ''] = encoded.split('$');
      if (scheme !== 'scrypt') throw new Error('a password hash of an unknown kind');
      // Hashes of earlier versions are of the text as it was sent.
      const texts = [...new Set([typed(password), password])];
      // Either form may be the longer one.
      if (texts.every((text) => Buffer.byteLength(text) > MAX_PASSWORD_BYTES)) return false;
      const expected = Buffer.from(hash, 'base64url');
      const salted = Buffer.from(salt, 'base64url');
      for (const text of texts) {
        const key = await semaphore(() =>
          derive(text, salted, Number(cost), Number(blockSize), Number(parallelism)),
        );
        if (key.length === expected.length && timingSafeEqual(key, expected)) return true;
      }
      return false;
    },
  };
}

export type PasswordHasher = ReturnType<typeof createPasswordHasher>;

/** One text for what keyboards send differently: an `é` is one character, or an `e` and an accent. */
const typed = (password: string) => password.normalize('NFC');

function derive(password: string, salt: Buffer, costLog2: number, blockSize: number, parallelism: number) {
  const cost = 2 ** costLog2;
  const options = { N: cost, r: blockSize, p: parallelism, maxmem: 256 * cost * blockSize };
  return new Promise<Buffer>((resolve, reject) => {
    scrypt(password, salt, HASH_BYTES, options, (error, key) => (error ? reject(error) : resolve(key)));
  });
}
