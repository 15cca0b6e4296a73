import type { RecordKind, RecordStores } from '../../adapters/adapter.ts';
import type { Metrics } from '../lib/metrics.ts';

/** How outdated this process's view may be, in ms, before it is reported: a query of the store may take as long. */
const LATE_MS = 2000;

const NAMES: Record<RecordKind, string> = {
  proxy: 'Proxies are shown',
  image: 'Searches know the images',
};

/** Measures the condition of the record store. */
export function describeCondition(metrics: Metrics, condition: RecordStores['condition']): void {
  const byKind = (numbers: Record<RecordKind, number>, unit = 1) =>
    Object.entries(numbers).map(([kind, value]) => ({ labels: [kind], value: value / unit }));
  metrics.gauge({
    name: 'picpool_store_unreadable_records',
    help: 'Unreadable records that were found and skipped.',
    labelNames: ['kind'],
    read: async () => byKind(condition().unreadable),
  });
  metrics.gauge({
    name: 'picpool_store_lag_seconds',
    help: 'How outdated this process is, if it could not read the shared store.',
    labelNames: ['kind'],
    read: async () => byKind(condition().lagMs, 1000),
  });
}

/** Returns what is wrong with the records of a kind, as sentences for the operator. */
export function conditionFaults(condition: RecordStores['condition'], kind: RecordKind): string[] {
  const { unreadable, lagMs } = condition();
  const faults: string[] = [];
  const count = unreadable[kind];
  if (count > 0) faults.push(`Unreadable records are skipped (${kind}: ${count}); the log names them.`);
  const seconds = Math.round(lagMs[kind] / 1000);
  if (lagMs[kind] > LATE_MS)
    faults.push(
      `${NAMES[kind]} as they were ${seconds} s ago: the record store has been unreadable since then.`,
    );
  return faults;
}
