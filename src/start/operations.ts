import { randomBytes, randomUUID } from 'node:crypto';
import type { RecordKind, RecordStores } from '../../adapters/adapter.ts';
import type { Stores } from '../../adapters/open.ts';
import { createHolders } from '../access/holders.ts';
import { createTokens } from '../access/tokens.ts';
import { createUsage } from '../access/usage.ts';
import type { Config } from '../config.ts';
import { createLimits } from '../http/limits.ts';
import { systemClock } from '../lib/clock.ts';
import type { Log } from '../lib/logger.ts';
import { createMetrics, type Histogram, type Metrics } from '../lib/metrics.ts';
import { describeProcess } from '../lib/process-metrics.ts';
import type { RateLimiter, Verdict } from '../lib/rate-limiter.ts';
import { createBlocks } from '../moderation/blocks.ts';
import { VERSION } from '../version.ts';
import type { Delivery, Webhooks } from '../webhooks/webhooks.ts';
import { openAudit } from './audit.ts';
import { lazySafeFetch } from './lazy-fetch.ts';

export async function startOperations(config: Config, stores: Stores, log: Log) {
  const now = () => performance.now();
  const metrics = createMetrics();
  describeProcess(metrics);
  metrics.gauge('picpool_build_info', 'The version that runs; always 1.', ['version'], () => [[VERSION, 1]]);
  describeCondition(metrics, stores.condition);
  const refusals = metrics.counter('picpool_limited_total', 'Requests refused by limits.', ['limit']);
  const { state, locks } = stores;
  const limiter = instrumentLimiter(stores.limiter, (name) => refusals(name).inc());
  const { RATE_LIMITS: rates, IMAGE_MAX_UPLOAD: maxUploadBytes } = config;
  const tokens = createTokens({ state, random: randomBytes, now: Date.now });
  const usage = createUsage({
    ...{ state, locks, tokens },
    now: Date.now,
    onError: (error) => log('warn', 'usage of tokens not stored', { error }),
  });
  const holders = createHolders({
    ...{ tokens, limiter, now },
    mostBytes: maxUploadBytes,
    onUse: (id) => usage.note(id, { requests: 1 }),
    uploader: config.MCP_WRITE_TOKEN,
  });
  const observe = instrumentStores(metrics, now);
  return {
    metrics,
    /** A monotonic clock in ms. */
    now,
    blocks: createBlocks({ ...stores, now: Date.now, log }),
    audit: openAudit(config, stores, log),
    tokens,
    /** `null` if nobody is limited. */
    limits: rates && createLimits({ limiter, rates, maxUploadBytes }),
    usage,
    holders,
    /** `null` if none are configured. */
    webhooks: await openWebhooks(config, metrics, log),
    /** The stores, with metrics. */
    stores: {
      ...stores,
      proxies: observe('proxies', stores.proxies),
      images: observe('images', stores.images),
      albums: observe('albums', stores.albums),
      audit: observe('audit', stores.audit),
      state: observe('state', stores.state),
      blobs: observe('blobs', stores.blobs),
      limiter,
    },
  };
}

/** What the operator needs from a running server, and what the services report to it. */
export type Operations = Awaited<ReturnType<typeof startOperations>>;

async function openWebhooks(config: Config, metrics: Metrics, log: Log): Promise<Webhooks | null> {
  const { WEBHOOK_URLS: urls, WEBHOOK_SECRET: secret } = config;
  if (!urls || secret === undefined) return null;
  const { createWebhooks } = await import('../webhooks/webhooks.ts');
  const deliveries = metrics.counter('picpool_webhook_deliveries_total', 'Webhook messages by outcome.', [
    'outcome',
  ]);
  // A series that begins with a loss has not grown, for an alert.
  for (const outcome of ['delivered', 'failed', 'dropped'] satisfies Delivery[]) deliveries(outcome);
  return createWebhooks({
    urls,
    secret,
    fetch: lazySafeFetch(config.PROXY_ALLOW_PRIVATE),
    clock: systemClock,
    newId: randomUUID,
    random: Math.random,
    log,
    onDelivery: (outcome) => deliveries(outcome).inc(),
  });
}

/** Measures the calls of stores: how long each took, and whether it succeeded. */
type InstrumentStore = <T extends object>(name: string, store: T) => T;

/** In seconds, from answers out of memory to the longest that people wait. */
const BUCKETS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];

/** Called for every request and answered from memory: measuring it would cost more than the call. */
const UNMEASURED = 'version';

/** Creates a decorator for stores. Calls that return no promise (streams) are not measured. */
export function instrumentStores(metrics: Metrics, now: () => number): InstrumentStore {
  const duration = metrics.histogram(
    'picpool_store_call_duration_seconds',
    'Duration of store calls.',
    ['store', 'call', 'outcome'],
    BUCKETS,
  );

  return (name, store) => {
    const measured = Object.entries(store).flatMap(([call, method]) => {
      if (typeof method !== 'function' || call === UNMEASURED) return [];
      let good: Histogram | undefined;
      const wrapper = (...args: unknown[]) => {
        const startedAt = now();
        const answer: unknown = method(...args);
        if (!(answer instanceof Promise)) return answer;
        return answer.then(
          (value) => {
            good ??= duration(name, call, 'ok');
            good.observe((now() - startedAt) / 1000);
            return value;
          },
          (error: unknown) => {
            duration(name, call, 'error').observe((now() - startedAt) / 1000);
            throw error;
          },
        );
      };
      return [[call, wrapper] as const];
    });
    return Object.assign(Object.create(store), Object.fromEntries(measured));
  };
}

/** Reports each refusal by the first word of its key, which names the limit. */
function instrumentLimiter(limiter: RateLimiter, onRefused: (name: string) => void): RateLimiter {
  const noted = (key: string, verdict: Verdict) => {
    if (!verdict.allowed) onRefused(key.slice(0, key.indexOf(' ')));
    return verdict;
  };
  return {
    take(key, bucket, cost) {
      const verdict = limiter.take(key, bucket, cost);
      return verdict instanceof Promise ? verdict.then((later) => noted(key, later)) : noted(key, verdict);
    },
  };
}

function describeCondition(metrics: Metrics, condition: RecordStores['condition']): void {
  const gauge = (name: string, help: string, numbers: () => Record<RecordKind, number>, unit = 1) =>
    metrics.gauge(name, help, ['kind'], async () =>
      Object.entries(numbers()).map(([kind, value]) => [kind, value / unit]),
    );
  gauge(
    'picpool_store_unreadable_records',
    'Unreadable records that were found and skipped.',
    () => condition().unreadable,
  );
  gauge(
    'picpool_store_lag_seconds',
    'How outdated this process is, if it could not read the shared store.',
    () => condition().lagMs,
    1000,
  );
}
