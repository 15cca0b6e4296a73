import type { Codec, CodecStats } from '../codec/codec.ts';
import { sandboxState } from '../codec/sandbox/report.ts';
import { AppError } from '../errors.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { ImageStore } from './store.ts';

/** In seconds, including the wait in the queue. */
const BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Measures conversions: time, megapixels of the results, and the state of queue and workers. */
export function observeCodec<T extends Pick<Codec, 'convert' | 'stats'>>(
  codec: T,
  metrics: Metrics,
  now: () => number,
): T {
  const duration = metrics.histogram(
    'picpool_conversion_duration_seconds',
    'Duration of conversions, including the wait in the queue, by stored format.',
    ['format'],
    BUCKETS,
  );
  const pixels = metrics.counter(
    'picpool_conversion_megapixels_total',
    'Pixels that conversions have written, in millions.',
    ['format'],
  );
  const failures = metrics.counter('picpool_conversion_failures_total', 'Conversions that failed.', ['code']);
  for (const [name, help, read] of STATES) metrics.value(name, help, () => read(codec.stats()));
  metrics.gauge(
    'picpool_conversion_sandbox',
    'State of the conversion sandbox: full, partial or none. Absent before a conversion process is ready.',
    ['state'],
    () => {
      const { missing } = codec.stats();
      return missing === undefined ? [] : [[sandboxState(missing).state, 1]];
    },
  );
  return {
    ...codec,
    async convert(job, order) {
      const startedAt = now();
      try {
        const converted = await codec.convert(job, order);
        const { format, width, height, frames } = converted;
        duration(format).observe((now() - startedAt) / 1000);
        pixels(format).inc((width * height * frames) / 1e6);
        return converted;
      } catch (error) {
        failures(
          error instanceof AppError ? error.code : order.signal?.aborted ? 'aborted' : 'internal',
        ).inc();
        throw error;
      }
    },
  };
}

const STATES: readonly [name: string, help: string, read: (stats: CodecStats) => number][] = [
  ['picpool_conversion_queue_length', 'Conversions that wait.', ({ queued }) => queued],
  [
    'picpool_conversion_queue_seconds',
    'Expected CPU time of the waiting conversions.',
    ({ queuedMs }) => queuedMs / 1000,
  ],
  [
    'picpool_conversion_wait_seconds',
    'Expected wait of a conversion for a client with nothing waiting.',
    ({ waitMs }) => waitMs / 1000,
  ],
  ['picpool_conversion_workers', 'Conversion processes.', ({ pids }) => pids.length],
  ['picpool_conversion_workers_busy', 'Busy conversion processes.', ({ busy }) => busy],
  ['picpool_conversion_worker_starts_total', 'Conversion processes started.', ({ started }) => started],
  ['picpool_conversion_worker_crashes_total', 'Conversion processes that died.', ({ crashes }) => crashes],
  ['picpool_conversion_timeouts_total', 'Conversions that took too long.', ({ timeouts }) => timeouts],
  [
    'picpool_conversion_out_of_memory_total',
    'Conversions that took too much memory.',
    ({ outOfMemory }) => outOfMemory,
  ],
  [
    'picpool_conversion_refused_total',
    'Conversions refused because too many of the client waited.',
    ({ refusedBusy }) => refusedBusy,
  ],
];

/** The state of the storage apart from the records. */
interface StorageState {
  /** Returns `null` if it is unknown. */
  freeBytes: () => Promise<number | null>;
  /** Returns why no file is removed. */
  doubts: () => Promise<readonly unknown[]>;
}

/** Measures what is stored, how much room is left, and what is wrong with the storage. */
export function describeImages(
  metrics: Metrics,
  images: Pick<ImageStore, 'summary'>,
  { freeBytes, doubts }: StorageState,
): void {
  metrics.gauge('picpool_images', 'Stored images.', ['format'], async () =>
    (await images.summary()).formats.map(({ format, count }) => [format, count]),
  );
  metrics.value(
    'picpool_disk_free_bytes',
    'Free bytes of the file system of the images, or of the temporary files.',
    freeBytes,
  );
  metrics.value(
    'picpool_images_bytes',
    'Bytes of the stored images, without smaller versions.',
    async () => (await images.summary()).bytes,
  );
  metrics.value(
    'picpool_image_doubts',
    'Reasons why no image file is removed; 0 if all is well.',
    async () => (await doubts()).length,
  );
}
