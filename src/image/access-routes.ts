import { type Static, Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { AppError } from '../errors.ts';
import { bearerOf } from '../http/context.ts';
import { describe } from '../http/describe.ts';
import { readJson } from '../http/read-json.ts';
import { isSecret } from '../lib/secret.ts';
import { ID_PATTERN } from './ids.ts';
import type { ImageStore } from './store.ts';

/** Maximum number of accesses in one request: some 60 KB. */
const MOST_ACCESSES = 1000;

const accessesBody = Type.Object({
  accesses: Type.Array(
    Type.Object({
      id: Type.String({
        pattern: ID_PATTERN.source,
        description: 'ID of an image. Unknown IDs are skipped.',
      }),
      at: Type.Optional(
        Type.Number({
          minimum: 0,
          maximum: 1e11,
          description: 'Time of the access, in seconds since 1970. By default, and at most, now.',
        }),
      ),
    }),
    { maxItems: MOST_ACCESSES },
  ),
});

interface AccessRoutesOptions {
  images: Pick<ImageStore, 'touch'>;
  /** Token for reports of accesses. Without it, none are accepted. */
  token: string | undefined;
  /** Ms since 1970. */
  now: () => number;
}

/**
 * Receives reports from a cache in front about images that it has served itself, so that they do not count as idle. A
 * last access only moves forward, and never past the current time: the token allows nobody to remove an image, or to
 * find out whether one exists.
 */
export function imageAccessRoutes({ images, token, now }: AccessRoutesOptions) {
  if (token === undefined) return new Elysia();
  const isToken = isSecret(token);

  function demandToken({ headers }: Request): void {
    if (isToken(bearerOf(headers.get('authorization')))) return;
    throw new AppError('unauthorized', 'This needs the header Authorization: Bearer <IMAGE_ACCESS_TOKEN>.');
  }

  async function note({ accesses }: Static<typeof accessesBody>): Promise<void> {
    const latest = new Map<string, number>();
    const present = now();
    for (const { id, at } of accesses) {
      const time = Math.min(present, at === undefined ? present : Math.floor(at * 1000));
      latest.set(id, Math.max(time, latest.get(id) ?? 0));
    }
    await images.touch(latest);
  }

  return new Elysia().post(
    '/api/accesses',
    async ({ body }) => {
      await note(body);
      return Response.json({ success: true }, { headers: { 'cache-control': 'no-store' } });
    },
    {
      body: accessesBody,
      parse: ({ request }) => {
        demandToken(request);
        return readJson(request);
      },
      detail: describe({
        id: 'noteAccesses',
        tag: 'Image host',
        summary: 'Report images served by a cache',
        description:
          `Prevents images served by a cache in front from being deleted as idle. Accepts at most ${MOST_ACCESSES} at once. Needs ` +
          '`Authorization: Bearer` with the value of `IMAGE_ACCESS_TOKEN`.',
        answers: {
          200: {
            description: 'The accesses of known images are recorded.',
            schema: Type.Object({ success: Type.Literal(true) }),
            example: { success: true },
          },
        },
        errors: [400, 401, 413],
      }),
    },
  );
}
