import { AppError, message } from '../../errors.ts';
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Bucket, RateLimiter } from '../../lib/rate-limiter.ts';
import type { Header } from '../convert/header.ts';
import { MOST_DECODED } from '../convert/limits.ts';
import { isFormat } from '../format.ts';
import { MOVING } from '../formats.ts';
import type { ConvertJob } from './protocol.ts';

/** What is known about a job before anything is decoded. */
export interface Estimate {
  kind: Header['kind'];
  /** Size of one frame, in pixels; `null` if the header does not say. */
  size: Header['size'];
  /** As far as the file says; 1 for a still picture. */
  frames: number;
  job: Pick<ConvertJob, 'format' | 'maxWidth' | 'maxHeight'>;
}

/**
 * CPU time in ms a megapixel, as it was measured on one machine. A few jobs are enough to adapt to another.
 */
const DECODE: Record<Header['kind'], number> = {
  ...{ jpeg: 8, png: 12, webp: 12, gif: 8, heif: 40, tiff: 8 },
  ...{ bmp: 40, ico: 40, jxl: 700 },
};
const ENCODE = { webp: 45, jpeg: 95, png: 60, gif: 200 };
/** Fixed cost of a job: reading, writing, messages. */
const BASE_MS = 5;
/** Assumed if the header does not say: the size of a phone's photo. */
const ASSUMED = { width: 4000, height: 3000 };
/** One large job moves the estimate for its kind by an eighth of the difference, which is limited. */
const WEIGHT = 1 / 8;
/** A job of this expected cost has a quarter of that weight: what a dot takes is not due to its pixels, and must not decide what photos cost. */
const QUARTER_WEIGHT_MS = 50;
const MAX_SURPRISE = 8;
/** Pairs of formats that are remembered of all clients. Those who have none are priced like others. */
const MAX_OWN = 10_000;

/** Estimates the cost of conversions, learning from what earlier ones took. */
export function createPrices() {
  /** For each pair of formats, the ratio of actual to expected cost; of clients with files of their own, theirs. */
  const factors = new Map<string, number>();
  const own = new BoundedMap<string, number>(MAX_OWN);
  /** Who was the last to change such a ratio: one client alone, with files made for that, changes it once. */
  const lastBy = new Map<string, string>();

  const believedBy = (client: string, pair: string) => own.get(`${pair} ${client}`) ?? factors.get(pair) ?? 1;

  return {
    /** Expected CPU time of a job of that client, in ms. */
    of(estimate: Estimate, client: string): number {
      return BASE_MS + figures(estimate) * believedBy(client, pairOf(estimate));
    },
    /** Records what a job of that client took until it ended or was stopped. */
    learn(estimate: Estimate, client: string, ms: number): void {
      const pair = pairOf(estimate);
      // Process clocks tick every 10 ms. For small jobs only the mean is accurate, so all of them are counted.
      const expected = figures(estimate);
      const took = Math.max(0, ms - BASE_MS) / expected;
      const weight = WEIGHT * (expected / (expected + QUARTER_WEIGHT_MS)) ** 2;
      const moved = (believed: number) =>
        Math.max(1 / MAX_SURPRISE, believed + (Math.min(believed * MAX_SURPRISE, took) - believed) * weight);
      own.set(`${pair} ${client}`, moved(believedBy(client, pair)));
      if (lastBy.get(pair) === client) return;
      lastBy.set(pair, client);
      factors.set(pair, moved(factors.get(pair) ?? 1));
    },
  };
}

/** What files take whose size is only assumed says nothing about those that name it. */
function pairOf({ kind, size, frames, job }: Estimate): string {
  return `${kind} ${formatOf(kind, frames, job)} ${frames > 1} ${size !== null}`;
}

function formatOf(kind: Header['kind'], frames: number, { format }: Estimate['job']) {
  if (format !== 'auto') return format;
  if (kind === 'heif') return frames > 1 ? 'webp' : 'avif';
  return isFormat(kind) ? kind : 'webp';
}

function figures(estimate: Estimate): number {
  const { kind, job } = estimate;
  const { width, height } = estimate.size ?? ASSUMED;
  const format = formatOf(kind, estimate.frames, job);
  const frames = MOVING.includes(format) ? estimate.frames : 1;
  const input = Math.max(1, width * height * frames) / 1e6;
  const scale = Math.min(1, job.maxWidth / width, (job.maxHeight ?? height) / height);
  const output = input * scale * scale;
  // The encoder uses less effort for large pictures; see convert.ts.
  const avif = output <= 4 ? 400 : output <= 20 ? 200 : 100;
  // Each frame of an animated AVIF is decoded with those before it; see avis.ts.
  const layers = kind === 'heif' ? (frames + 1) / 2 : 1;
  const decoded = Math.max(input, Math.min(input * layers, MOST_DECODED / 1e6));
  return decoded * DECODE[kind] + output * (format === 'avif' ? avif : ENCODE[format]);
}

/** Tokens of the bucket are CPU seconds. A job that costs more than the bucket holds takes a full bucket. */
export function createBudget(limiter: RateLimiter, bucket: Bucket) {
  const take = (client: string, seconds: number) =>
    limiter.take(`conversion ${client}`, bucket, Math.min(seconds, bucket.capacity));
  return {
    /** Takes the expected cost of a job, in ms. Rejects with `rate_limited`. */
    async take(client: string, ms: number): Promise<void> {
      const { allowed, retryAfterMs } = await take(client, ms / 1000);
      if (allowed) return;
      const seconds = Math.ceil(retryAfterMs / 1000);
      throw new AppError(
        'rate_limited',
        message('Your conversions have used up their computing time; try again in {seconds} s.', { seconds }),
        { retryAfterMs },
      );
    },
    /** Takes what a job cost beyond that, up to what the budget holds. Never rejects. */
    async charge(client: string, ms: number): Promise<void> {
      if (ms <= 0) return;
      try {
        const { remaining } = await take(client, 0);
        await take(client, Math.min(ms / 1000, remaining));
      } catch {
        // The store of the limits is unavailable; the job was paid in advance.
      }
    },
  };
}

/** Limits the CPU time that each client's conversions may use. */
export type Budget = ReturnType<typeof createBudget>;
