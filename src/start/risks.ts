import { type OpenOptions, risksOf } from '../../adapters/open.ts';
import type { Config } from '../config.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/logger.ts';

/** Pause before a store that did not respond is asked again, in ms. */
const RETRY_MS = 5000;

const LEVELS = { broken: 'error', loss: 'warn', unknown: 'info' } as const;

interface RisksOptions extends OpenOptions {
  config: Pick<Config, 'METADATA_URL' | 'BLOBS_URL' | 'SERVICES'>;
  clock: Pick<Clock, 'sleep'>;
  log: Log;
}

/**
 * Logs once what the stores in use may lose. A store that is unavailable is asked when it is back. Ends when the
 * signal aborts.
 */
export async function tellRisks(options: RisksOptions, signal: AbortSignal): Promise<void> {
  await Promise.all(storesInUse(options.config).map((url) => tellOf(url, options, signal)));
}

/** Returns the URLs of the stores that the services use. */
export function storesInUse({ METADATA_URL, BLOBS_URL, SERVICES }: RisksOptions['config']): string[] {
  return SERVICES.includes('image') ? [METADATA_URL, BLOBS_URL] : [METADATA_URL];
}

async function tellOf(url: string, options: RisksOptions, signal: AbortSignal): Promise<void> {
  const { clock, log } = options;
  while (!signal.aborted) {
    const risks = await risksOf(url, options).catch(() => null);
    if (signal.aborted) return;
    for (const { kind, text, advice } of risks ?? [])
      log(LEVELS[kind], 'a store may lose acknowledged changes', { finding: text, advice });
    if (risks) return;
    await clock.sleep(RETRY_MS, signal).catch(() => {});
  }
}
