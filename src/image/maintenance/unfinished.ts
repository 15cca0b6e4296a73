import { AppError } from '../../errors.ts';
import type { Log } from '../../lib/logger.ts';
import type { StateStore } from '../../lib/state.ts';
import { elapsedSince } from '../../lib/stored-time.ts';
import { CHANGEABLE, type ImageRecord } from '../image.ts';
import { createDeleteToken, type RandomBytes } from '../records/ids.ts';
import type { RecordCache } from '../records/records.ts';
import type { Reviews } from '../review/reviews.ts';
import type { ImageStore } from '../store.ts';

/** Beginning of the state keys of what is under way. */
const PREFIX = 'image-unfinished:';
/** End of the keys of what was taken over. */
const TAKEN = ':taken';
/** What was begun longer ago, and is not under way in this process, was begun by one that died. */
const DEAD_MS = 10 * 60_000;
/** How often to look for that, in ms. */
const LOOK_MS = 60_000;
/** How long a store may take to do what it was asked for before the connection broke. */
const LATE_MS = 120_000;

/**
 * What was begun: `deletion`: the records must go; `removal`: they may have gone, and stay if not; `take-back`: the
 * record of an upload whose uploader got an error must go, even if it comes late; `withdrawal`: so must that of one in
 * review, which may be approved first; `change`: the record may differ from this one.
 */
type Kind = 'deletion' | 'removal' | 'take-back' | 'withdrawal' | 'change';

interface Business {
  kind: Kind;
  /** When it was begun, ms since 1970. */
  at: number;
  /** The records as they were. */
  images: ImageRecord[];
}

/**
 * Changes of records, with what follows from them: events, caches, files. Whether the answer of the store is lost or
 * this process dies, what was decided is done and what happened is told, later and by any copy of the server; after
 * the death of a process possibly twice.
 */
export type Unfinished = ReturnType<typeof createUnfinished>;

type Work<T> = (done: (image: ImageRecord) => void) => Promise<T>;

interface UnfinishedOptions {
  images: Pick<ImageStore, 'get' | 'remove'>;
  state: Pick<StateStore, 'get' | 'set' | 'remove' | 'keys'>;
  reviews: Pick<Reviews, 'withdraw'> | undefined;
  records: Pick<RecordCache, 'forget'>;
  /** Removes everything that belongs to a removed record. */
  onRemoved: (image: ImageRecord) => Promise<void>;
  onChanged: (image: ImageRecord) => void;
  removeFiles: (image: ImageRecord) => Promise<void>;
  random: RandomBytes;
  now: () => number;
  log: Log;
}

export function createUnfinished(options: UnfinishedOptions) {
  const { images, state, reviews, records, onRemoved, onChanged, removeFiles, random, now, log } = options;
  /** Begun by this process and not ended. */
  const running = new Set<string>();
  /** Known to this process, and to be finished. */
  const open = new Map<string, Business>();
  const { unnoted, note, strike } = createNotes(options);
  let lookedAt = Number.NEGATIVE_INFINITY;

  const newKey = () => PREFIX + createDeleteToken(random);

  async function remove(image: ImageRecord): Promise<boolean> {
    if (!(await images.remove(image.id))) return false;
    await onRemoved(image);
    return true;
  }

  /** Returns whether nothing is left to be done for the image. */
  async function finishOne({ kind, at }: Business, image: ImageRecord): Promise<boolean> {
    records.forget(image.id);
    /** What the store has not done by now, it will not do. */
    const isSettled = elapsedSince(at, now()) >= LATE_MS;
    if (kind === 'withdrawal' && (await reviews?.withdraw(image.id))) return true;
    if (kind === 'take-back' || kind === 'withdrawal') {
      if (await remove(image)) return true;
      await removeFiles(image);
      return isSettled;
    }
    const current = await images.get(image.id);
    if (kind === 'change') {
      const isDone = current === null || differs(image, current);
      if (isDone && current !== null) onChanged(current);
      return isDone || isSettled;
    }
    // If it has just gone, because the store did late what it was asked for before, that is told the next time.
    if (current !== null) return kind === 'deletion' ? remove(image) : isSettled;
    await onRemoved(image);
    return true;
  }

  async function finishBusiness(key: string, business: Business): Promise<void> {
    for (const image of [...business.images]) {
      if (await finishOne(business, image)) business.images = without(business.images, image);
    }
    if (business.images.length > 0) return;
    open.delete(key);
    await strike(key);
    // It stands if what was taken over could not be noted at first.
    if (key.endsWith(TAKEN)) await strike(key.slice(0, -TAKEN.length));
  }

  /**
   * Takes over what a process that died has left, under another key: that process may be alive after all, and strikes
   * out its own note when it finds that nothing is left to do.
   */
  async function look(): Promise<void> {
    if (elapsedSince(lookedAt, now(), 0) < LOOK_MS) return;
    for (const key of await state.keys()) {
      if (!key.startsWith(PREFIX) || running.has(key)) continue;
      const taken = key.endsWith(TAKEN) ? key : key + TAKEN;
      if (open.has(key) || open.has(taken)) continue;
      const text = await state.get(key);
      const business = text === null ? null : (JSON.parse(text) as Business);
      if (!business || elapsedSince(business.at, now()) < DEAD_MS) continue;
      await note(taken, business);
      open.set(taken, business);
      if (key !== taken && !unnoted.has(taken)) await strike(key);
    }
    lookedAt = now();
  }

  return {
    /**
     * Runs the work, which calls `done` for each image once everything has followed. If its outcome is unclear, the rest
     * is finished later, and the error is thrown on.
     */
    async during<T>(kind: Kind, some: readonly ImageRecord[], work: Work<T>): Promise<T> {
      const key = newKey();
      const business: Business = { kind, at: now(), images: [...some] };
      running.add(key);
      await note(key, business);
      try {
        const result = await work((image) => {
          business.images = without(business.images, image);
        });
        await strike(key);
        return result;
      } catch (cause) {
        if (isUnclear(cause)) open.set(key, business);
        else await strike(key);
        throw cause;
      } finally {
        running.delete(key);
      }
    },

    /** Finishes what has failed: at once if possible, otherwise later. Never rejects. */
    async settle(kind: Kind, image: ImageRecord) {
      const key = newKey();
      const business: Business = { kind, at: now(), images: [image] };
      open.set(key, business);
      // First, because this process may die while the store has yet to do what it was asked for.
      await note(key, business);
      await finishBusiness(key, business).catch(() => {});
    },

    /** Finishes what can be finished. Call it every few seconds. Never rejects. */
    async finish() {
      for (const key of unnoted) {
        const business = open.get(key);
        if (business) await note(key, business);
      }
      try {
        await look();
        for (const [key, business] of [...open]) {
          // One that fails again goes to the end.
          open.delete(key);
          open.set(key, business);
          await finishBusiness(key, business);
        }
      } catch (cause) {
        log('warn', 'unfinished work is tried again', { count: open.size, cause });
      }
    },
  };
}

/** What must outlive this process. `unnoted`: what is known to it alone. */
function createNotes({ state, log }: Pick<UnfinishedOptions, 'state' | 'log'>) {
  const unnoted = new Set<string>();
  return {
    unnoted,

    /** Without it only this process knows: a full store must not keep anything from being deleted. */
    async note(key: string, business: Business): Promise<void> {
      unnoted.add(key);
      await state
        .set(key, JSON.stringify(business))
        .then(() => unnoted.delete(key))
        .catch((cause) => log('warn', 'unfinished work not noted', { cause }));
    },

    /** A note that stays is found later, and leads to nothing but a second event. */
    async strike(key: string): Promise<void> {
      unnoted.delete(key);
      await state.remove(key).catch(() => {});
    },
  };
}

/** Reports whether the store may have done what it was asked for. */
export function isUnclear(cause: unknown): boolean {
  return !(cause instanceof AppError) || ['unavailable', 'storage_full', 'internal'].includes(cause.code);
}

const without = (images: readonly ImageRecord[], { id }: ImageRecord) =>
  images.filter((image) => image.id !== id);

/** Reports whether anything differs that can be changed. */
function differs(one: ImageRecord, other: ImageRecord): boolean {
  return CHANGEABLE.some((field) => one[field] !== other[field]);
}
