import { randomUUID } from 'node:crypto';
import type { Stores } from '../../adapters/open.ts';
import type { Config } from '../config.ts';
import { systemClock } from '../lib/clock.ts';
import type { Log } from '../lib/logger.ts';
import { createMetrics, type Metrics } from '../lib/metrics.ts';
import { describeProcess } from '../lib/process-metrics.ts';
import { type Blocks, createBlocks } from '../moderation/blocks.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import { describeCondition } from './condition.ts';
import { instrumentLimiter, instrumentStores } from './instrumented.ts';
import { lazySafeFetch } from './lazy-fetch.ts';

/** What the operator needs from a running server, and what the services report to it. */
export interface Operations {
  metrics: Metrics;
  blocks: Blocks;
  /** `null` if none are configured. */
  webhooks: Webhooks | null;
  /** The stores, with metrics. */
  stores: Stores;
  /** Counts a refusal by a limit. */
  onRefused: (name: string) => void;
  /** A monotonic clock in ms. */
  now: () => number;
}

export async function startOperations(config: Config, stores: Stores, log: Log): Promise<Operations> {
  const now = () => performance.now();
  const metrics = createMetrics();
  describeProcess(metrics);
  describeCondition(metrics, stores.condition);
  const refusals = metrics.counter('picpool_limited_total', 'Requests refused by limits.', ['limit']);
  const onRefused = (name: string) => refusals(name).inc();
  const observe = instrumentStores(metrics, now);
  return {
    metrics,
    now,
    onRefused,
    blocks: createBlocks({ ...stores, now: Date.now }),
    webhooks: await openWebhooks(config, metrics, log),
    stores: {
      ...stores,
      proxies: observe('proxies', stores.proxies),
      images: observe('images', stores.images),
      albums: observe('albums', stores.albums),
      state: observe('state', stores.state),
      blobs: observe('blobs', stores.blobs),
      limiter: instrumentLimiter(stores.limiter, onRefused),
    },
  };
}

async function openWebhooks(config: Config, metrics: Metrics, log: Log): Promise<Webhooks | null> {
  const { WEBHOOK_URLS: urls, WEBHOOK_SECRET: secret } = config;
  if (!urls || secret === undefined) return null;
  const { createWebhooks } = await import('../webhooks/webhooks.ts');
  const deliveries = metrics.counter('picpool_webhook_deliveries_total', 'Webhook messages by outcome.', [
    'outcome',
  ]);
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
