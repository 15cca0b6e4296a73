import { setTimeout } from 'node:timers/promises';
import { AppError } from '../../errors.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/logger.ts';
import type { RateLimiter } from '../../lib/rate-limiter.ts';
import { breathe } from '../../lib/schedule.ts';
import type { ImageRecord } from '../image.ts';
import type { Unfinished } from '../maintenance/unfinished.ts';
import { createDeleteToken, type RandomBytes } from '../records/ids.ts';
import { gone } from '../records/missing.ts';
import type { ImageStore } from '../store.ts';

/**
 * A longer transfer is aborted. A view that its server never ended, because it died, counts as seen after this time.
 */
const VIEW_LIFE_MS = 10 * 60_000;
/** Margin before that time. */
const SPARE_MS = 60_000;
/** Number of views of an image that are given back in a month: even a tenth, twice, must not add up to a picture. */
const BROKEN = { capacity: 2, perSecond: 2 / (30 * 86_400) };

/**
 * How long to wait for a report that the transfer was interrupted: longer than a message takes around the world. It is split into many
 * pauses, because a busy machine could sleep through a single one before the client or this process gets a turn.
 */
const SETTLE = { pauses: 10, pauseMs: 25 };

/** A view in progress. */
export interface View {
  /** Resolves once an interruption of the transfer would have been noticed. */
  settle(): Promise<void>;
  /**
   * Must be called before the last bytes are sent, or when the transfer was interrupted. Only the first call counts.
   * `null`: nothing could be sent, so it is given back however often. Never rejects.
   */
  end(seen: boolean | null): Promise<void>;
  /** Resolves when the view has ended, with true if it took too long. */
  readonly timedOut: Promise<boolean>;
}

interface LimitedViewsOptions {
  images: Pick<ImageStore, 'takeView' | 'endView' | 'get'>;
  limiter: RateLimiter;
  random: RandomBytes;
  now: () => number;
  sleep: Clock['sleep'];
  /** Removes everything that belongs to a removed record. */
  onRemoved: (image: ImageRecord) => Promise<void>;
  unfinished: Pick<Unfinished, 'during'>;
  log: Log;
}

/** Counts how often the files of images are sent, by all copies of the server together. */
export function createLimitedViews(options: LimitedViewsOptions) {
  const { images, limiter, random, now, sleep, onRemoved, unfinished, log } = options;

  async function end(image: ImageRecord, token: string, seen: boolean | null): Promise<void> {
    const counts =
      seen !== null && (seen || !(await limiter.take(`broken-view ${image.id}`, BROKEN)).allowed);
    // It may be the last one, which removes the record.
    await unfinished.during('removal', [image], async (done) => {
      if (await images.endView(image.id, token, counts)) await onRemoved(image);
      done(image);
    });
  }

  /**
   * Takes a view before the first byte is sent. Rejects with `gone`, or with `busy` while the last view is in
   * progress.
   */
  return async (image: ImageRecord): Promise<View> => {
    const token = createDeleteToken(random);
    if (!(await images.takeView(image.id, token, now() + VIEW_LIFE_MS))) {
      if ((await images.get(image.id)) === null) throw gone();
      throw new AppError('busy', 'The last view of this picture is being sent.', { retryAfterMs: 5000 });
    }
    const ended = new AbortController();
    let work: Promise<void> | null = null;
    return {
      async settle() {
        for (let pause = 0; pause < SETTLE.pauses; pause++) {
          await sleep(SETTLE.pauseMs);
          // Process what arrived meanwhile first.
          await breathe();
        }
      },
      end(seen) {
        ended.abort();
        work ??= end(image, token, seen).catch((cause) => {
          log('warn', 'view not ended', { id: image.id, seen, cause });
        });
        return work;
      },
      timedOut: setTimeout(VIEW_LIFE_MS - SPARE_MS, true, { signal: ended.signal, ref: false }).catch(
        () => false,
      ),
    };
  };
}
