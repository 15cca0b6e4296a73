import type { Bucket, RateLimiter } from '../../src/lib/rate-limiter.ts';
import { createSlicingLimiter, type Taken } from '../../src/lib/token-slices.ts';
import type { PostgresConnection } from './connection.ts';

/** How often full buckets are forgotten, in ms. */
const SWEEP_MS = 60_000;
/** Number of buckets that one sweep forgets. */
const SWEPT = 5000;

/**
 * A `RateLimiter` whose buckets all copies share; see `createSlicingLimiter`. It tolerates a millionth of a token, so
 * that a client that waits as told is admitted.
 */
export function createPostgresRateLimiter({ table, ask }: PostgresConnection): RateLimiter {
  const limits = table('limits');
  const [capacity, rate, cost, more] = ['$2', '$3', '$4', '$5'].map((place) => `${place}::double precision`);
  const gained = `least(${capacity},
    l.tokens + greatest(0, extract(epoch FROM clock_timestamp() - l.at)::double precision) * ${rate})`;
  const allowed = `${cost} <= b.tokens + 1e-6`;
  // Locks the row first, so that it does not change between reading and writing.
  const open = `INSERT INTO ${limits} (key, tokens, at, full_at)
    VALUES ($1, $2, clock_timestamp(), clock_timestamp()) ON CONFLICT (key) DO NOTHING`;
  const take = `WITH b AS (SELECT key, ${gained} AS tokens FROM ${limits} l WHERE key = $1 FOR UPDATE),
    v AS (SELECT key, ${allowed} AS allowed,
      CASE WHEN ${allowed} THEN least(${capacity}, greatest(0, b.tokens - ${cost})) ELSE b.tokens END AS tokens FROM b),
    e AS (SELECT *, CASE WHEN allowed THEN least(${more}, floor(tokens / 4)) ELSE 0 END AS extra FROM v)
    UPDATE ${limits} t SET tokens = e.tokens - e.extra, at = clock_timestamp(),
      full_at = clock_timestamp() + (${capacity} - e.tokens + e.extra) / ${rate} * interval '1 second'
    FROM e WHERE t.key = e.key RETURNING e.allowed, e.tokens - e.extra AS tokens, e.extra`;
  const sweep = `DELETE FROM ${limits} WHERE key IN (
    SELECT key FROM ${limits} WHERE full_at < now() ORDER BY full_at LIMIT ${SWEPT} FOR UPDATE SKIP LOCKED)`;
  let sweepAt = 0;

  function sweepNow(): void {
    sweepAt = performance.now() + SWEEP_MS;
    ask('safe', sweep).catch(() => {});
  }

  async function taken(key: string, bucket: Bucket, cost: number, extra: number): Promise<Taken> {
    const values = [key, bucket.capacity, bucket.perSecond, cost, extra];
    for (;;) {
      const [row] = await ask<Taken>('never', take, values);
      if (row) return row;
      await ask('safe', open, [key, bucket.capacity]);
    }
  }

  /** Requests for one bucket wait here for each other, in order, rather than in connections for its row. */
  const lasts = new Map<string, Promise<unknown>>();

  function inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    const turn = (lasts.get(key) ?? Promise.resolve()).then(work, work);
    lasts.set(key, turn);
    const forget = () => {
      if (lasts.get(key) === turn) lasts.delete(key);
    };
    turn.then(forget, forget);
    return turn;
  }

  return createSlicingLimiter(
    {
      take(key, bucket, cost, extra) {
        if (performance.now() > sweepAt) sweepNow();
        return inTurn(key, () => taken(key, bucket, cost, extra));
      },
    },
    () => performance.now(),
  );
}
