import type { Feature } from '../feature.ts';
import { createResponseCache } from './response-cache.ts';
import { type Route, route } from './route.ts';

/** `GET /api/stats`, the one path that both services share. `now` in ms. */
export function statsRoutes(features: readonly Feature[], now: () => number): Route[] {
  return [
    route('GET /api/stats', () => stats(features), {
      cached: createResponseCache({ version: () => versionOf(features, now) }),
      about: {
        id: features.length > 1 ? 'getStats' : `get${features[0]?.name}Stats`,
        tag: features.length > 1 ? 'Server' : `${features[0]?.name}`,
        summary: 'Get statistics',
        answers: {
          200: {
            description: 'The statistics of all services at this base path.',
            schema: { type: 'object', allOf: features.map(({ statsAnswer }) => statsAnswer.schema) } as never,
            example: Object.assign({}, ...features.map(({ statsAnswer }) => statsAnswer.example)),
          },
        },
      },
    }),
  ];
}

async function stats(features: readonly Feature[]): Promise<Response> {
  const parts = await Promise.all(features.map((feature) => feature.stats()));
  return Response.json(Object.assign({}, ...parts), { headers: { 'cache-control': 'no-cache' } });
}

/** Returns the version of all services together. Services without a version are recounted every second. */
function versionOf(features: readonly Feature[], now: () => number): string | Promise<string> {
  const versions = features.map(({ version }) => version?.() ?? String(Math.floor(now() / 1000)));
  return versions.every((version) => typeof version === 'string')
    ? versions.join()
    : Promise.all(versions).then(String);
}
