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
      ...policy({ cached: createResponseCache({ version: () => versionOf(features, now) }) }),
    },
  );
}

/** Returns the version of all services together. Services without a version are recounted every second. */
function versionOf(features: readonly Feature[], now: () => number): string | Promise<string> {
  const versions = features.map(({ version }) => version?.() ?? String(Math.floor(now() / 1000)));
  return versions.every((version) => typeof version === 'string')
    ? versions.join()
    : Promise.all(versions).then(String);
}
