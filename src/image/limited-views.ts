import { setTimeout } from 'node:timers/promises';
import { AppError } from '../errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/logger.ts';
import type { RateLimiter } from '../lib/rate-limiter.ts';
import { breathe } from '../lib/schedule.ts';
import { createDeleteToken, type RandomBytes } from './ids.ts';
import type { ImageRecord } from './image.ts';
import type { ImageStore } from './store.ts';

/** A transfer that takes longer is broken off. A view that nobody ends, as its server died, counts as seen after that. */
const VIEW_LIFE_MS = 10 * 60_000;
/** Before that. */
const SPARE_MS = 60_000;
/** Number of broken transfers of an image that are not counted, because a client could cancel on purpose after seeing most of it. */
const BROKEN = { capacity: 30, perSecond: 30 / 86_400 };

/**
 * How long the last byte waits for the news that the transfer has broken: longer than that takes around the world. In many pauses, as one
 * that a busy machine sleeps through would end before the client or this process had had its turn.
 */
const SETTLE = { pauses: 10, pauseMs: 25 };

/** A view that is being sent. */
export interface View {
  /** Resolves when a transfer that has broken would be known to have. */
  settle(): Promise<void>;
  /** To be called before the last byte is sent, or when the transfer broke; what comes after the first call does not count. Never rejects. */
  end(seen: boolean): Promise<void>;
  /** Resolves when it has ended, with true if that is because it took too long. */
  readonly timedOut: Promise<boolean>;
}

/** Counts how often the files of images are sent, on all copies of the server together. */
export interface LimitedViews {
  /** Takes a view before the first byte is sent. Rejects with `gone`, or with `busy` while the last one is being sent. */
  take(image: ImageRecord): Promise<View>;
}

export interface LimitedViewsOptions {
  images: Pick<ImageStore, 'takeView' | 'endView' | 'get'>;
  limiter: RateLimiter;
  random: RandomBytes;
  now: () => number;
  sleep: Clock['sleep'];
  /** Removes what belongs to a record that is gone. */
  onRemoved: (image: ImageRecord) => Promise<void>;
  log: Log;
}

export function createLimitedViews(options: LimitedViewsOptions): LimitedViews {
  const { images, limiter, random, now, sleep, onRemoved, log } = options;

  async function end(image: ImageRecord, token: string, seen: boolean): Promise<void> {
    const counts = seen || !(await limiter.take(`broken-view ${image.id}`, BROKEN)).allowed;
    if (await images.endView(image.id, token, counts)) await onRemoved(image);
  }

  return {
    async take(image) {
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
            // What came in meanwhile is heard first.
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
        timedOut: afterMs(VIEW_LIFE_MS - SPARE_MS, ended.signal),
      };
    },
  };
}

/** Resolves with true after the time, and with false when the signal aborts. Keeps no process alive. */
function afterMs(ms: number, signal: AbortSignal): Promise<boolean> {
  return setTimeout(ms, true, { signal, ref: false }).catch(() => false);
}

export function gone(): AppError {
  return new AppError(
    'gone',
    'This picture has expired, or has been viewed as often as its uploader allowed.',
  );
}
