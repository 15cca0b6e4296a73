import { Elysia } from 'elysia';
import type { Feature } from '../feature.ts';
import { describe } from './describe.ts';
import { policy } from './policy.ts';
import { createResponseCache } from './response-cache.ts';

/** Serves `GET /api/stats`, the one path that both services share. `now` in ms. */
export function statsRoute(features: readonly Feature[], now: () => number) {
  const schemas = features.map(({ statsAnswer }) => statsAnswer.schema);
  return new Elysia().get(
    '/api/stats',
    async () => {
      const parts = await Promise.all(features.map(({ stats }) => stats()));
      return Response.json(Object.assign({}, ...parts), { headers: { 'cache-control': 'no-cache' } });
    },
    {
      detail: describe({
        id: features.length > 1 ? 'getStats' : `get${features[0]?.name}Stats`,
        tag: features.length > 1 ? 'Server' : `${features[0]?.name}`,
        summary: 'Get statistics',
        answers: {
          200: {
            description: 'The statistics of all services at this base path.',
            schema: { type: 'object', allOf: schemas } as never,
            example: Object.assign({}, ...features.map(({ statsAnswer }) => statsAnswer.example)),
          },
        },
      }),
      ...policy({ cached: createResponseCache({ version: createVersion(features, now) }) }),
    },
  );
}

/**
 * Returns the version of all services together. Services without a version are recounted every second. While nothing
 * changes, the text is the same one, so comparing it costs nothing.
 */
function createVersion(features: readonly Feature[], now: () => number): () => string | Promise<string> {
  const parts = features.map(({ version = () => String(Math.floor(now() / 1000)) }) => ({
    version,
    last: '',
  }));
  let together = '';

  return () => {
    let changed = false;
    for (const part of parts) {
      const own = part.version();
      if (typeof own !== 'string') return Promise.all(parts.map(({ version }) => version())).then(String);
      changed ||= own !== part.last;
      part.last = own;
    }
    if (changed) together = parts.map(({ last }) => last).join();
    return together;
  };
}
