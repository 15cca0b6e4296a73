import { type Finding, fail } from '../../findings/finding.ts';
import { forEachBounded } from '../../lib/for-each-bounded.ts';
import type { Repetition } from '../../lib/schedule.ts';
import type { ImageRecord } from '../image.ts';
import type { RecordCache } from '../records/records.ts';
import type { Reviews } from '../review/reviews.ts';
import { createAccessLog } from './accesses.ts';
import { createAskedCleanup, createCleanup } from './cleanup.ts';
import { createDoubts } from './doubts.ts';
import { type MaintenanceOptions, startMaintenance } from './maintenance.ts';
import type { Unfinished } from './unfinished.ts';

export interface UpkeepOptions
  extends Omit<MaintenanceOptions, 'doubts' | 'accesses' | 'cleanup' | 'removeEnded' | 'confirmed'> {
  mayStore: NonNullable<MaintenanceOptions['mayStore']>;
  reviews?: Pick<Reviews, 'removeExpired'>;
  records: Pick<RecordCache, 'forget'>;
  /** Removes everything that belongs to a removed record. */
  onRemoved: (image: ImageRecord) => Promise<void>;
  unfinished: Unfinished;
  /** Called with the reasons why no file is removed, or with none when files are removed again. */
  onDoubt?: ((reasons: readonly string[]) => void) | undefined;
}

export function createUpkeep(options: UpkeepOptions) {
  const { images, blobs, state, records, now, serviceTime, unfinished, onDoubt, log } = options;
  const accesses = createAccessLog({
    images,
    now: serviceTime.viewed,
    log,
    onWritten(ids) {
      for (const id of ids) records.forget(id);
    },
  });
  const doubts = createDoubts({ state, blobs, images, now, log, ...(onDoubt && { onChange: onDoubt }) });
  const { retentionMs } = options.limits;
  const cleanup = createCleanup({ ...options, doubts, accesses, retentionMs });
  const removeEnded = createExpiry(options);
  const stopping = new AbortController();
  let maintenance: Repetition | null = null;

  return {
    /**
     * Removes images that have not been viewed for a long time, for at most `budgetMs`. Rejects with `conflict`, also
     * while the time is in doubt, which `confirm` ends. Without `admin`, it reports within ten minutes of a complete
     * cleanup that nothing was removed.
     */
    cleanup: createAskedCleanup({ cleanup, serviceTime, state, now }),
    /**
     * Removes images that have expired or have no views left, unless the time is in doubt. The server calls it every 15
     * seconds.
     */
    removeEnded: (signal: AbortSignal = stopping.signal) => removeEnded(signal),
    /** Returns why files, or idle and expired images, are not removed; none if all is well. At most ten seconds old. */
    async doubts(): Promise<readonly Finding[]> {
      const [reasons, doubt] = await Promise.all([doubts.recent(), serviceTime.doubt()]);
      return doubt === null ? reasons : [...reasons, fail(doubt)];
    },
    skew: serviceTime.skew,
    /** Records that a person or program has viewed the image. */
    accessed: accesses.note,

    /** Starts to write accesses and to clean up in the background. */
    start(): void {
      images.prepare(stopping.signal).catch((cause) => log('warn', 'search not prepared', { cause }));
      maintenance ??= startMaintenance({ ...options, doubts, accesses, cleanup, removeEnded });
    },

    /** Stops that, and writes the last accesses. Idempotent. */
    async stop(): Promise<void> {
      stopping.abort();
      await maintenance?.stop();
      maintenance = null;
      await accesses.flush();
      await unfinished.finish();
    },
  };
}

/** What the image host does on its own, and what of it can be asked for. */
export type Upkeep = ReturnType<typeof createUpkeep>;

const BATCH = 100;
/**
 * An image has up to nine files, and a remote store is slow for each. Thousands of images that expire together must
 * be gone within a minute.
 */
const AT_ONCE = 16;

type ExpiryOptions = Pick<
  UpkeepOptions,
  'images' | 'reviews' | 'onRemoved' | 'unfinished' | 'serviceTime' | 'log'
>;

/**
 * Creates a function that removes images that have expired, or whose last view counts as seen. All copies of the
 * server may call it at the same time; only one of them removes each image. While the time is in doubt, it removes only what
 * no clock has ended, because a clock that is ahead would remove what has not expired; nobody sees it meanwhile. Other
 * doubts do not stop it, as they do not stop a deletion by an uploader.
 */
function createExpiry({ images, reviews, onRemoved, unfinished, serviceTime, log }: ExpiryOptions) {
  return async (signal: AbortSignal): Promise<void> => {
    await unfinished.finish();
    const end = await serviceTime.expiresBy();
    await reviews?.removeExpired(end).catch((cause) => log('warn', 'expired reviews not removed', { cause }));
    while (!signal.aborted) {
      const ended = await images.endedBy(end, BATCH);
      if (ended.length === 0) break;
      let some = false;
      const failures: unknown[] = [];
      const removal = unfinished.during('removal', ended, async (done) => {
        const work = async (image: ImageRecord) => {
          if (await images.removeEnded(image.id, end)) {
            some = true;
            await onRemoved(image);
          }
          done(image);
        };
        // One that cannot be removed does not stop the others.
        await forEachBounded(
          ended,
          AT_ONCE,
          (one) => work(one).catch((cause) => void failures.push(cause)),
          signal,
        );
        if (failures.length > 0) throw failures[0];
      });
      await removal.catch((cause) => log('warn', 'expired images not removed', { cause }));
      // Another copy removed them, or their expiry was postponed.
      if (!some) break;
    }
  };
}
