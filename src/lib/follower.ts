import { setTimeout } from 'node:timers';
import { AppError } from '../errors.ts';
import { LateError, within } from './deadline.ts';

/** Maximum age of a view that is returned without asking the log. */
const FRESH_MS = 250;
/** How long a reader waits for the log before it uses the current view. */
const PATIENCE_MS = 400;
/** How long a reader waits if there is no view yet. */
const FIRST_PATIENCE_MS = 4000;
/** Pause after a failed query of the log, during which readers use the current view. */
const PAUSE_MS = 500;

/** The part of a server that reports which records have changed. */
export interface ChangeLog<Change> {
  /** Returns the position of the log's end: everything written before is older. */
  end(): Promise<string>;
  /** Returns the changes since the position, or `null` if the log no longer reaches back that far. */
  since(place: string): Promise<{ place: string; more: boolean; changes: Change[] } | null>;
}

interface FollowerOptions<View, Change> {
  log: ChangeLog<Change>;
  open(): Promise<View>;
  /** Returns all records, in batches. Concurrent changes may or may not be seen. */
  scan(): AsyncIterable<Change[]>;
  /** Called when a whole scan was applied, before the view is used. */
  complete?(view: View): Promise<void>;
  /** Applies the changes at once. The same change may arrive twice. Throws if they do not fit the view. */
  apply(view: View, changes: Change[]): void;
  /** Frees a view that could not be filled, or was replaced. */
  close(view: View): Promise<void>;
  /** When a view that was replaced is closed, in ms. Default: it is left to the garbage collector. */
  lingerMs?: number;
  /** Returns the error for a reader that waited too long for the first view. */
  late(cause: unknown): Error;
}

/** A view of some records within the process, kept up to date by the log of changes. */
interface Followed<View> {
  view: View;
  /** Its position in the log, which changes whenever the view does. */
  place: string;
}

/** Follows a log. Nothing runs between calls: the log is queried when a reader needs it. */
export function createFollower<View, Change>(options: FollowerOptions<View, Change>) {
  const { log, apply, lingerMs } = options;
  let current: Followed<View> | null = null;
  let unfinished: View | null = null;
  let freshAt = Number.NEGATIVE_INFINITY;
  let failedAt = Number.NEGATIVE_INFINITY;
  let running: { since: number; done: Promise<Followed<View>> } | null = null;
  let next: Promise<Followed<View>> | null = null;

  /** Brings a view up to date. Returns `null` if the log cannot continue it, so that it must be rebuilt. */
  async function follow(followed: Followed<View>): Promise<Followed<View> | null> {
    for (;;) {
      const step = await log.since(followed.place);
      if (!step) return null;
      try {
        if (step.changes.length > 0) apply(followed.view, step.changes);
      } catch (error) {
        // Changes that do not fit the view follow other records than those it has. A new view would not help a full disk.
        if (followed !== current || error instanceof AppError) throw error;
        return null;
      }
      followed.place = step.place;
      if (!step.more) return followed;
    }
  }

  /** Builds a new view beside the old one, which is used until the new one is complete. */
  async function load(): Promise<Followed<View>> {
    for (;;) {
      const place = await log.end();
      const view = await options.open();
      if (!current) unfinished = view;
      let followed: Followed<View> | null = null;
      try {
        for await (const batch of options.scan()) apply(view, batch);
        await options.complete?.(view);
        followed = await follow({ view, place });
      } finally {
        if (followed === null) await close(view);
      }
      if (followed) return followed;
    }
  }

  /** Of a copy in a file, the disk may be full or gone. */
  const close = (view: View) => options.close(view).catch(() => {});

  function look(): Promise<Followed<View>> {
    const since = performance.now();
    const done = (async () => {
      try {
        const old = current;
        current = (old && (await follow(old))) ?? (await load());
        if (old && old !== current && lingerMs !== undefined)
          setTimeout(() => close(old.view), lingerMs).unref();
        freshAt = since;
        return current;
      } catch (error) {
        failedAt = performance.now();
        throw error;
      } finally {
        running = null;
        unfinished = null;
      }
    })();
    running = { since, done };
    return done;
  }

  /** Queries the log after the call. Callers during one query share the next. */
  function nextLook(): Promise<Followed<View>> {
    if (!running) return look();
    next ??= running.done
      .catch(() => {})
      .then(() => {
        next = null;
        return running ? running.done : look();
      });
    return next;
  }

  /** Reading everything for the first time may take longer than a caller should wait. */
  async function first(): Promise<Followed<View>> {
    const words = 'the records are still being read';
    return within(FIRST_PATIENCE_MS, running?.done ?? look(), words).catch((error) => {
      throw error instanceof LateError ? options.late(error) : error;
    });
  }

  async function recent(): Promise<Followed<View>> {
    const followed = current;
    if (!followed) return first();
    const now = performance.now();
    if (now - freshAt < FRESH_MS || now - failedAt < PAUSE_MS) return followed;
    const done = running?.done ?? look();
    const patienceMs = PATIENCE_MS - (now - (running?.since ?? now));
    return within(patienceMs, done).catch(() => followed);
  }

  return {
    /**
     * Returns the view with everything that was written before the call.
     * @throws {AppError} `unavailable` while the server is unavailable.
     */
    async exact(): Promise<Followed<View>> {
      if (!current) await first();
      return nextLook();
    },

    /** Returns the view, less than a second old; older while the server is unavailable. */
    recent,

    /** Like `recent`, but waits for the first view as long as necessary. */
    whole: async () => (current ? recent() : (running?.done ?? look())),

    /** Returns the current view; `complete` is false while the first one is being filled. */
    present(): { view: View; complete: boolean } | null {
      if (current) return { view: current.view, complete: true };
      return unfinished && { view: unfinished, complete: false };
    },

    /** Returns the age of the view while the server does not respond; 0 if it does, or if no query was made. */
    lagMs(): number {
      const late = failedAt > freshAt || (running !== null && performance.now() - running.since > FRESH_MS);
      return late && current ? performance.now() - freshAt : 0;
    },

    /** Lets this process see what it has just written. Never rejects, because the write has already succeeded. */
    async catchUp(): Promise<void> {
      if (current) await nextLook().catch(() => {});
    },
  };
}
