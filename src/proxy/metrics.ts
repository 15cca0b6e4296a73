import type { Metrics, Reading } from '../lib/metrics.ts';
import { type Checker, watched } from './check/checker.ts';
import { PROTOCOLS, type Protocol, STATUSES, type Status } from './proxy.ts';
import type { RefreshObserver } from './refresh/run.ts';
import type { ProxyService } from './service.ts';
import type { ProxyStore } from './store.ts';

/** In seconds. */
const STAGE_BUCKETS = [0.1, 1, 5, 15, 30, 60, 120, 300, 600];

/** Counts checks by protocol and result: `alive`, `unknown`, or why the proxy counts as dead. */
export function observeChecker(checker: Checker, metrics: Metrics): Checker {
  const checks = metrics.counter('picpool_checks_total', 'Checks of proxies.', ['protocol', 'result']);
  return watched(checker, ({ protocol }, result) =>
    checks(protocol, result.verdict === 'dead' ? result.error : result.verdict).inc(),
  );
}

/** Counts the refreshes of this process, and how long their stages take. */
export function observeRefreshes(metrics: Metrics): RefreshObserver {
  const stages = metrics.histogram(
    'picpool_refresh_stage_duration_seconds',
    'Duration of the stages of refreshes.',
    ['stage'],
    STAGE_BUCKETS,
  );
  const refreshes = metrics.counter('picpool_refreshes_total', 'Refreshes that have ended.', ['result']);
  return {
    stageEnded: (stage, ms) => stages(stage).observe(ms / 1000),
    ended: ({ error }) => refreshes(error ?? 'done').inc(),
  };
}

/** Measures the current state of the pool, its judges and its lists. */
export function describePool(
  metrics: Metrics,
  service: Pick<ProxyService, 'status' | 'currentRefresh'>,
  store: Pick<ProxyStore, 'summary'>,
): void {
  metrics.gauge('picpool_proxies', 'Proxies in the pool.', ['protocol', 'status'], async () => {
    const { counts } = await store.summary();
    const countOf = (protocol: Protocol, status: Status) =>
      counts.find((one) => one.protocol === protocol && one.status === status)?.count ?? 0;
    return PROTOCOLS.flatMap((protocol) =>
      STATUSES.map((status): Reading => [protocol, status, countOf(protocol, status)]),
    );
  });
  metrics.gauge(
    'picpool_judge_up',
    'Whether a judge answered the last direct request; absent before the first one.',
    ['judge'],
    async () => {
      const { judges } = (await service.status()).judges;
      const asked = judges.filter(({ checkedAt }) => checkedAt !== null);
      // A URL may contain a secret, its host does not. Several judges on one host are one series.
      const byHost = Map.groupBy(asked, ({ url }) => new URL(url).origin);
      return [...byHost].map(([host, some]) => [host, some.some(({ up }) => up) ? 1 : 0]);
    },
  );
  metrics.value(
    'picpool_refresh_last_success_timestamp_seconds',
    'When the last successful refresh ended; 0 before the first.',
    async () => ((await service.status()).lastRefresh ?? 0) / 1000,
  );
  for (const [field, help] of [
    ['fresh', 'Entries that no other list and no earlier refresh had named.'],
    ['checked', 'Entries of a list that were checked, in the latest refresh.'],
    ['alive', 'Entries of a list that work, in the latest refresh.'],
  ] as const) {
    metrics.gauge(`picpool_source_${field}`, help, ['source'], async () =>
      (await service.currentRefresh()).sources.map((source) => [source.name, source[field]]),
    );
  }
}
