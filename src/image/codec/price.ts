import { isFormat } from '../image.ts';
import type { Header } from './header.ts';
import type { ConvertJob } from './protocol.ts';

/** What is known of a job before anything is decoded. */
export interface Estimate {
  kind: Header['kind'];
  /** Of one frame, in pixels; `null` if the header does not tell. */
  size: Header['size'];
  /** As far as the file tells; 1 for a still picture. */
  frames: number;
  job: Pick<ConvertJob, 'format' | 'maxWidth' | 'maxHeight' | 'animate'>;
}

/** What conversions cost, learned from what they took. */
export interface Prices {
  /** CPU time that a job is expected to take, in ms. */
  of(estimate: Estimate): number;
  /** Tells what one took, to the end or until it was stopped. */
  learn(estimate: Estimate, ms: number): void;
}

/** CPU time in ms a megapixel on the machine that bench/encoders.ts ran on; another machine is learned in a few jobs. */
const DECODE: Record<Header['kind'], number> = {
  ...{ jpeg: 8, png: 12, webp: 12, gif: 8, heif: 40, tiff: 8 },
  ...{ bmp: 40, ico: 40, jxl: 700 },
};
const ENCODE = { webp: 45, jpeg: 95, png: 60, gif: 200 };
/** Of a job, whatever its size: reading, writing, messages. */
const BASE_MS = 5;
/** Where the header does not tell: the size of a phone's photo. */
const ASSUMED = { width: 4000, height: 3000 };
/** One job moves what is believed of its kind by an eighth, and at most this far from what was believed. */
const WEIGHT = 1 / 8;
const MAX_SURPRISE = 8;

export function createPrices(): Prices {
  /** Of each pair of formats: what its jobs took over what the figures above say. */
  const factors = new Map<string, number>();

  return {
    of(estimate) {
      return BASE_MS + figures(estimate) * (factors.get(pairOf(estimate)) ?? 1);
    },
    learn(estimate, ms) {
      const pair = pairOf(estimate);
      const believed = factors.get(pair) ?? 1;
      // Clocks of processes tick every 10 ms: of small jobs only the mean is true, so that none is left out.
      const took = Math.max(0, ms - BASE_MS) / figures(estimate);
      const bounded = Math.min(believed * MAX_SURPRISE, took);
      factors.set(pair, Math.max(1 / MAX_SURPRISE, believed + (bounded - believed) * WEIGHT));
    },
  };
}

function pairOf({ kind, frames, job }: Estimate): string {
  return `${kind} ${formatOf(kind, job)} ${frames > 1}`;
}

function formatOf(kind: Header['kind'], { format }: Estimate['job']) {
  if (format !== 'auto') return format;
  if (kind === 'heif') return 'avif';
  return isFormat(kind) ? kind : 'webp';
}

function figures(estimate: Estimate): number {
  const { kind, job } = estimate;
  const { width, height } = estimate.size ?? ASSUMED;
  const format = formatOf(kind, job);
  const animated = (format === 'webp' || format === 'gif') && job.animate !== false;
  const frames = animated ? estimate.frames : 1;
  const input = Math.max(1, width * height * frames) / 1e6;
  const scale = Math.min(1, job.maxWidth / width, (job.maxHeight ?? height) / height);
  const output = input * scale * scale;
  // Its encoder tries less hard with large pictures; see encode.ts.
  const avif = output <= 4 ? 400 : output <= 20 ? 200 : 100;
  return input * DECODE[kind] + output * (format === 'avif' ? avif : ENCODE[format]);
}
