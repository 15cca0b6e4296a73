import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { AppError } from '../errors.ts';
import type { Metrics } from '../lib/metrics.ts';
import { isSecret } from '../lib/secret.ts';
import { bearerOf } from './context.ts';
import { describe } from './describe.ts';
import { policy } from './policy.ts';
import { PROMETHEUS_TYPE, prometheusText } from './prometheus.ts';

/** Serves `GET /metrics` to everyone or, if a token is set, to holders of the token. */
export function metricsRoutes(metrics: Pick<Metrics, 'collect'>, token: string | undefined) {
  const isToken = isSecret(token);
  return new Elysia().get(
    '/metrics',
    async ({ request }) => {
      if (token !== undefined && !isToken(bearerOf(request.headers.get('authorization')))) {
        throw new AppError('unauthorized', 'Metrics need the header Authorization: Bearer <METRICS_TOKEN>.');
      }
      return new Response(prometheusText(await metrics.collect()), {
        headers: { 'content-type': PROMETHEUS_TYPE, 'cache-control': 'no-store' },
      });
    },
    {
      detail: describe({
        id: 'getMetrics',
        tag: 'Server',
        summary: 'Get metrics for Prometheus',
        description: 'Open to everyone unless `METRICS_TOKEN` is set.',
        answers: {
          200: { description: 'The metrics.', content: { 'text/plain': { schema: Type.String() } } },
        },
        errors: [401],
      }),
      ...policy({ queued: false }),
    },
  );
}
