import { AppError } from '../../src/errors.ts';
import type { ImageStore } from '../../src/image/store.ts';
import type { PostgresConnection } from './connection.ts';
import { onWrites } from './kept-lists.ts';

/** Maximum age of what a replica returns, in addition to the time of the answer, in ms. */
const AGE_MS = 500;
/** Pause after one of the two did not respond, during which the other one is used. */
const PAUSE_MS = 2000;

/** Reads that a replica of the server may answer. */
interface ReadsElsewhere {
  /**
   * Returns the replica's result if it has everything that this copy has written and everything that was written at
   * least half a second ago; otherwise the primary's. While the primary is unavailable, the replica answers as it is.
   */
  read<T>(work: { primary: () => Promise<T>; replica: () => Promise<T> }): Promise<T>;
  /** Call it after this copy has written. */
  wrote(): void;
}

/** `now` in ms; only differences count. */
export function createReadsElsewhere(
  primary: Pick<PostgresConnection, 'ask'>,
  replica: Pick<PostgresConnection, 'ask'>,
  now: () => number = () => performance.now(),
): ReadsElsewhere {
  /** The position of the primary's log at that time. */
  let wanted = { place: '0/0', at: Number.NEGATIVE_INFINITY };
  let replayed = '0/0';
  let writes = 0;
  let seenWrites = 0;
  const awayAt = { primary: Number.NEGATIVE_INFINITY, replica: Number.NEGATIVE_INFINITY };
  const isPaused = (which: keyof typeof awayAt) => now() - awayAt[which] < PAUSE_MS;

  async function look(): Promise<void> {
    if (seenWrites === writes && now() - wanted.at < AGE_MS) return;
    const [at, counted] = [now(), writes];
    const [row] = await primary.ask<{ place: string }>('safe', 'SELECT pg_current_wal_lsn()::text AS place');
    wanted = { place: row?.place ?? wanted.place, at };
    seenWrites = counted;
  }

  async function isCaughtUp(): Promise<boolean> {
    if (isBefore(replayed, wanted.place)) {
      const text = 'SELECT pg_last_wal_replay_lsn()::text AS place';
      const [row] = await replica.ask<{ place: string | null }>('safe', text);
      // A promoted replica replays nothing; it is then queried as a primary.
      replayed = row?.place ?? '0/0';
    }
    return !isBefore(replayed, wanted.place);
  }

  async function mayReplica(): Promise<boolean> {
    try {
      return await isCaughtUp();
    } catch (error) {
      if (isAway(error)) awayAt.replica = now();
      return false;
    }
  }

  return {
    async read(work) {
      if (isPaused('primary')) return work.replica();
      try {
        await look();
      } catch (error) {
        if (!isAway(error)) throw error;
        awayAt.primary = now();
        return work.replica();
      }
      if (isPaused('replica') || !(await mayReplica())) return work.primary();
      return work.replica().catch((error: unknown) => {
        if (!isAway(error)) throw error;
        awayAt.replica = now();
        return work.primary();
      });
    },

    wrote() {
      writes++;
      // If the write succeeded, the primary is back, and its replica may not have it yet.
      awayAt.primary = Number.NEGATIVE_INFINITY;
    },
  };
}

const isAway = (error: unknown) => error instanceof AppError && error.code === 'unavailable';

/** Reports whether a position in the log, two hexadecimal numbers, comes before another. */
function isBefore(one: string, other: string): boolean {
  const [left, right] = [one, other].map((place) =>
    place.split('/').map((part) => Number.parseInt(part, 16)),
  );
  const [a = 0, b = 0] = left ?? [];
  const [c = 0, d = 0] = right ?? [];
  return a < c || (a === c && b < d);
}

/** Returns the store, with lists and searches answered elsewhere if possible. */
export function withListElsewhere(
  store: ImageStore,
  list: ImageStore['list'],
  reads: ReadsElsewhere,
): ImageStore {
  return {
    ...onWrites(store, reads.wrote),
    list: (query) => reads.read({ primary: () => store.list(query), replica: () => list(query) }),
  };
}
