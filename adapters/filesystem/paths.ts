import { createHash } from 'node:crypto';
import { join } from 'node:path';

/** Common file systems allow 255 bytes in a file name. */
const MAX_KEY_LENGTH = 250;

/** Hexadecimal digits of a folder's name: 4,096 folders, so that each has about 250 of a million files. */
const FAN_OUT = 3;

/** A suffix that no key has. */
export const PARTIAL = '.partial';

/** The path of a file in a folder chosen by a hash of its key. */
export interface Place {
  folder: string;
  path: string;
}

/**
 * Returns where the blob of a key is stored. A `/` becomes `_`, which no key contains, so that `a` and `a/b` can both
 * exist.
 * @throws {RangeError} for keys that the contract does not allow, and parts that are empty or begin with a dot.
 */
export function placeOf(root: string, key: string): Place {
  const wellFormed =
    key.length <= MAX_KEY_LENGTH && /^[0-9A-Za-z-][0-9A-Za-z.-]*(\/[0-9A-Za-z-][0-9A-Za-z.-]*)*$/.test(key);
  if (!wellFormed) throw new RangeError(`${JSON.stringify(key)} cannot be the key of a file.`);
  const folder = join(root, createHash('sha256').update(key).digest('hex').slice(0, FAN_OUT));
  return { folder, path: join(folder, key.replaceAll('/', '_')) };
}

/** Returns the key of a file name. */
export function keyOfName(name: string): string {
  return name.replaceAll('_', '/');
}
