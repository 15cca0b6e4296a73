import { AppError, type Said } from '../errors.ts';

interface SharesOptions {
  /** Maximum number of places for one client. */
  each: number;
  /** Maximum number of places in total. Default: unlimited. */
  all?: number;
  /** The messages for a full share, and for no free places. */
  fullMessage: Said;
  busyMessage?: Said;
  /** When a client with a full share is asked to try again. Default: 1 s. */
  retryAfterMs?: number;
}

export function createShares(options: SharesOptions) {
  const { each, all, fullMessage, busyMessage = fullMessage, retryAfterMs = 1000 } = options;
  const held = new Map<string, number>();
  let total = 0;

  return {
    /**
     * Takes a place for the client until the returned function is called; further calls do nothing.
     * @throws {AppError} `rate_limited` if the client already has its share, `busy` if all places are taken.
     */
    enter(client: string): () => void {
      const own = held.get(client) ?? 0;
      if (own >= each) throw new AppError('rate_limited', fullMessage, { retryAfterMs });
      if (all !== undefined && total >= all) {
        throw new AppError('busy', busyMessage, { retryAfterMs: 30_000 });
      }
      held.set(client, own + 1);
      total++;
      let left = false;
      return () => {
        if (left) return;
        left = true;
        total--;
        const rest = (held.get(client) ?? 1) - 1;
        if (rest === 0) held.delete(client);
        else held.set(client, rest);
      };
    },
  };
}

/** Keeps one client from taking all of a scarce resource, such as long-lived connections. */
export type Shares = ReturnType<typeof createShares>;
