import { type Static, Type } from '@sinclair/typebox';
import type { Description } from '../http/describe.ts';
import { json, type Route, route } from '../http/route.ts';
import { ID_PATTERN } from './records/ids.ts';
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

const about: Description = {
  id: 'noteAccesses',
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
  errors: [400, 413],
};

interface AccessRoutesOptions {
  images: Pick<ImageStore, 'touch'>;
  /** Token for reports of accesses. Without it, none are accepted. */
  token: string | undefined;
  /** Ms since 1970. */
  now: () => number;
}

/** Receives reports from a cache in front about images that it has served itself. */
export function imageAccessRoutes({ images, token, now }: AccessRoutesOptions): Route[] {
  if (token === undefined) return [];
  return [
    route('POST /api/accesses', ({ body }) => noteAccesses(images, now(), body), {
      body: json(accessesBody),
      tokens: { IMAGE_ACCESS_TOKEN: token },
      about,
    }),
  ];
}

/**
 * Prevents images from counting as idle. A last access only moves forward, and never past the current time: the token
 * allows nobody to remove an image, or to find out whether one exists.
 */
async function noteAccesses(
  images: Pick<ImageStore, 'touch'>,
  now: number,
  { accesses }: Static<typeof accessesBody>,
): Promise<Response> {
  const latest = new Map<string, number>();
  for (const { id, at } of accesses) {
    const time = Math.min(now, at === undefined ? now : Math.floor(at * 1000));
    latest.set(id, Math.max(time, latest.get(id) ?? 0));
  }
  await images.touch(latest);
  return Response.json({ success: true }, { headers: { 'cache-control': 'no-store' } });
}
