import { AppError } from '../../src/errors.ts';
import type { ImageStore } from '../../src/image/store.ts';
import { LateError, within } from '../../src/lib/deadline.ts';
import type { PostgresConnection } from './connection.ts';
import { onWrites } from './kept-lists.ts';

/** Maximum age of what a replica returns, in addition to the time of the answer, in ms. */
const AGE_MS = 500;
/** Pause after one of the two did not respond, during which it is not asked. */
const PAUSE_MS = 2000;
/** How long reads wait for a primary that was away: one that is back answers at once. */
const BACK_MS = 250;

/** A place in the log of a server: two hexadecimal numbers, on a timeline that begins when a replica is promoted. */
interface Position {
  line: number;
  place: string;
}

const WRITTEN = `SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int AS line,
  pg_current_wal_lsn()::text AS place`;
/**
 * A replica knows its timeline from the last checkpoint: it follows a new primary for minutes before lists come from it again. One that was
 * promoted replays nothing; it is then queried as a primary.
 */
const REPLAYED = `SELECT timeline_id AS line, coalesce(pg_last_wal_replay_lsn()::text, '0/0') AS place
  FROM pg_control_checkpoint()`;

const NOWHERE: Position = { line: 0, place: '0/0' };

/** `now` in ms; only differences count. */
export function createReadsElsewhere(
  primary: Pick<PostgresConnection, 'ask'>,
  replica: Pick<PostgresConnection, 'ask'>,
  now: () => number = () => performance.now(),
) {
  /** The primary's position at that time. */
  let wanted: Position & { at: number } = { ...NOWHERE, at: Number.NEGATIVE_INFINITY };
  let replayed = NOWHERE;
  /** Whether the replica did not respond. It is asked again beside reads, so that none of them waits for it. */
  let isLost = false;
  let writes = 0;
  let seenWrites = 0;
  const awayAt = { primary: Number.NEGATIVE_INFINITY, replica: Number.NEGATIVE_INFINITY };
  const isPaused = (which: keyof typeof awayAt) => now() - awayAt[which] < PAUSE_MS;

  async function look(): Promise<void> {
    if (seenWrites === writes && now() - wanted.at < AGE_MS) return;
    const [at, counted] = [now(), writes];
    const [row] = await primary.ask<Position>('safe', WRITTEN);
    wanted = { ...(row ?? wanted), at };
    seenWrites = counted;
  }

  async function isCaughtUp(): Promise<boolean> {
    if (!reaches(replayed, wanted)) {
      const [row] = await replica.ask<Position>('safe', REPLAYED);
      replayed = row ?? NOWHERE;
    }
    return reaches(replayed, wanted);
  }

  async function mayReplica(): Promise<boolean> {
    try {
      const may = await isCaughtUp();
      isLost = false;
      return may;
    } catch (error) {
      if (isAway(error)) lose();
      return false;
    }
  }

  function lose(): void {
    isLost = true;
    replayed = NOWHERE;
    awayAt.replica = now();
  }

  return {
    /**
     * Returns the replica's result if it has everything that this copy has written and everything that was written at
     * least half a second ago; otherwise the primary's. While the primary is unavailable, the replica answers as it is.
     */
    async read<T>(work: { primary: () => Promise<T>; replica: () => Promise<T> }): Promise<T> {
      if (isPaused('primary')) return work.replica();
      try {
        await (Number.isFinite(awayAt.primary) ? within(BACK_MS, look()) : look());
        awayAt.primary = Number.NEGATIVE_INFINITY;
      } catch (error) {
        if (!isAway(error)) throw error;
        awayAt.primary = now();
        return work.replica();
      }
      if (isLost && !isPaused('replica')) {
        awayAt.replica = now();
        void mayReplica();
      }
      if (isLost || !(await mayReplica())) return work.primary();
      return work.replica().catch((error: unknown) => {
        if (!isAway(error)) throw error;
        lose();
        return work.primary();
      });
    },

    /** Call it after this copy has written. */
    wrote(): void {
      writes++;
      // If the write succeeded, the primary is back, and its replica may not have it yet.
      awayAt.primary = Number.NEGATIVE_INFINITY;
    },
  };
}

/** Reads that a replica of the server may answer. */
type ReadsElsewhere = ReturnType<typeof createReadsElsewhere>;

const isAway = (error: unknown) =>
  error instanceof LateError || (error instanceof AppError && error.code === 'unavailable');

/** Reports whether a server has what another one had written. Positions of different timelines say nothing about each other. */
function reaches(one: Position, other: Position): boolean {
  if (one.line !== other.line) return false;
  const [left, right] = [one.place, other.place].map((place) =>
    place.split('/').map((part) => Number.parseInt(part, 16)),
  );
  const [a = 0, b = 0] = left ?? [];
  const [c = 0, d = 0] = right ?? [];
  return a > c || (a === c && b >= d);
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
