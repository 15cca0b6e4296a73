import type { Redis } from 'ioredis';
import { AppError, message } from '../../src/errors.ts';

/** Time limit for the replicas, in ms. A command would be given up after 2.5 s. */
const WAIT_MS = 1000;

/**
 * KEYS: a hash, a separate key. ARGV: fields. Returns which of them exist. It writes, so that a following `WAIT`
 * covers everything written before.
 */
const WITNESS = `
redis.call('SET', KEYS[2], redis.call('TIME')[1])
local found = {}
for i = 1, #ARGV do
  if redis.call('HEXISTS', KEYS[1], ARGV[i]) == 1 then found[#found + 1] = ARGV[i] end
end
return found`;

/** Finds out whether replicas have what was written. */
export interface Replicas {
  /**
   * Resolves when the field exists in the hash, and also on as many replicas as the URL demands.
   * @throws {AppError} `unavailable` if that is uncertain after a second or two.
   */
  confirm(field: string): Promise<void>;
}

interface ReplicasOptions {
  /** A separate connection, because other commands would wait behind it. */
  client: Redis;
  /** The hash. A key whose name begins with that of the hash is written beside it. */
  hash: string;
  /** The number of replicas. */
  count: number;
  /** Retries temporary failures. */
  persist: <T>(attempt: () => Promise<T>) => Promise<T>;
}

/** Callers during one query share the next. */
export function createReplicas({ client, hash, count, persist }: ReplicasOptions): Replicas {
  let last: Promise<unknown> = Promise.resolve();
  let next: { fields: string[]; found: Promise<Set<string>> } | null = null;

  /** Returns which of the fields are on the master and on enough replicas: none if there are not enough. */
  async function ask(fields: readonly string[]): Promise<Set<string>> {
    // Sent together: after a failover the second command would ask about what another master received.
    const answers = await client
      .pipeline()
      .call('EVAL', WITNESS, 2, hash, `${hash}:confirmed`, ...fields)
      .call('WAIT', count, WAIT_MS)
      .exec();
    const [[evalError, found] = [null, []], [waitError, replicas] = [null, 0]] = answers ?? [];
    const error = evalError ?? waitError;
    if (error) throw error;
    return new Set(Number(replicas) < count ? [] : (found as string[]));
  }

  function join(field: string): Promise<Set<string>> {
    if (!next) {
      const fields: string[] = [];
      const begin = () => {
        next = null;
        return persist(() => ask(fields));
      };
      const found = last.then(begin, begin);
      last = found;
      next = { fields, found };
    }
    next.fields.push(field);
    return next.found;
  }

  return {
    async confirm(field) {
      if ((await join(field)).has(field)) return;
      const fault =
        'could not copy this to another server in time, so it may be lost. Try again in a few seconds';
      const cause = new Error(
        `fewer than ${count} replicas have confirmed it (wait=${count} in METADATA_URL)`,
      );
      const options = { cause, retryAfterMs: 2000 };
      throw new AppError('unavailable', message('The database {fault}.', { fault }), options);
    },
  };
}
