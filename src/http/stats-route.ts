import { Elysia } from 'elysia';
import type { Feature } from '../feature.ts';
import { describe } from './describe.ts';

/** `GET /api/stats`: the one path that both services have. */
export function statsRoute(features: readonly Feature[]) {
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
        summary: 'Numbers about what is stored',
        answers: {
          200: {
            description: 'The numbers of every service at this base path.',
            schema: { type: 'object', allOf: schemas } as never,
            example: Object.assign({}, ...features.map(({ statsAnswer }) => statsAnswer.example)),
          },
        },
      }),
    },
  );
}
