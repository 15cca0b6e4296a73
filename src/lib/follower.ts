import { LateError, within } from './deadline.ts';

/** How old a view may be that is handed out without a look at the log. */
const FRESH_MS = 250;
/** How long a reader waits for a look at the log before it takes the view as it is. */
const PATIENCE_MS = 400;
/** How long a reader waits if there is no view yet. */
const FIRST_PATIENCE_MS = 4000;
/** Pause after a failed look, during which readers take the view as it is. */
const PAUSE_MS = 500;

/** What of a server says which records have changed. */
export interface ChangeLog<Change> {
  /** The place of the log's end: whatever was written before is older. */
  end(): Promise<string>;
  /** What has changed since the place, or `null` if the log no longer reaches back to it. */
  since(place: string): Promise<{ place: string; more: boolean; changes: Change[] } | null>;
}

export interface FollowerOptions<View, Change> {
  log: ChangeLog<Change>;
  /** An empty view. */
  open(): Promise<View>;
  /** All records there are, in batches; what changes meanwhile may or may not be seen. */
  scan(): AsyncIterable<Change[]>;
  /** Called when all of a scan is applied, before the view is used. */
  complete?(view: View): Promise<void>;
  /** Takes the changes over, all at once. The same change may come twice. */
  apply(view: View, changes: Change[]): void;
  /** The error for a reader that waits too long for the first view. */
  late(cause: unknown): Error;
}

/** A view of some records within the process, kept up to date by the log of changes. */
export interface Followed<View> {
  view: View;
  /** Its place in the log: changes whenever the view does. */
  place: string;
}

export interface Follower<View> {
  /** The view, less than a second old; older while the server is away. */
  recent(): Promise<Followed<View>>;
  /**
   * The view with everything that was written before the call.
   * @throws {AppError} `unavailable` while the server is away.
   */
  exact(): Promise<Followed<View>>;
  /** As `recent`, but waits for the first view as long as it takes. */
  whole(): Promise<Followed<View>>;
  /** The view as it is now; `complete` is false while the first one is being filled. */
  present(): { view: View; complete: boolean } | null;
  /** How old the view is while the server cannot be asked, or does not answer; 0 if it has been asked, and where nobody wants to know. */
  lagMs(): number;
  /** Lets this process see what it has just written. Never rejects: what was written stays so. */
  catchUp(): Promise<void>;
}

/** Follows a log. Nothing runs between the calls: a look at the log begins when a reader wants one. */
export function createFollower<View, Change>(options: FollowerOptions<View, Change>): Follower<View> {
  const { log, apply } = options;
  let current: Followed<View> | null = null;
  let unfinished: View | null = null;
  let freshAt = Number.NEGATIVE_INFINITY;
  let failedAt = Number.NEGATIVE_INFINITY;
  let running: { since: number; done: Promise<Followed<View>> } | null = null;
  let next: Promise<Followed<View>> | null = null;

  async function follow(followed: Followed<View>): Promise<Followed<View> | null> {
    for (;;) {
      const step = await log.since(followed.place);
      if (!step) return null;
      if (step.changes.length > 0) apply(followed.view, step.changes);
      followed.place = step.place;
      if (!step.more) return followed;
    }
  }

  /** Builds a new view beside the old one, which serves until the new one is complete. */
  async function load(): Promise<Followed<View>> {
    for (;;) {
      const place = await log.end();
      const view = await options.open();
      if (!current) unfinished = view;
      for await (const batch of options.scan()) apply(view, batch);
      await options.complete?.(view);
      const followed = await follow({ view, place });
      if (followed) return followed;
    }
  }

  function look(): Promise<Followed<View>> {
    const since = performance.now();
    const done = (async () => {
      try {
        current = (current && (await follow(current))) ?? (await load());
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

  /** A look that begins after the call; callers during one share the next. */
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

  /** To read everything for the first time may take longer than a caller should wait. */
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
    async exact() {
      if (!current) await first();
      return nextLook();
    },

    recent,

    whole: async () => (current ? recent() : (running?.done ?? look())),

    present() {
      if (current) return { view: current.view, complete: true };
      return unfinished && { view: unfinished, complete: false };
    },

    lagMs() {
      const late = failedAt > freshAt || (running !== null && performance.now() - running.since > FRESH_MS);
      return late && current ? performance.now() - freshAt : 0;
    },

    async catchUp() {
      if (current) await nextLook().catch(() => {});
    },
  };
}
