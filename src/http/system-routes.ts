import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { AppError } from '../errors.ts';
import { describe } from './describe.ts';
import { policy } from './policy.ts';

/** One part that the server cannot do without, and a call that rejects while it is away. */
export interface Dependency {
  name: string;
  check: () => Promise<unknown>;
  /** What does not work as it should though the server serves, in sentences; asked after `check` went well. */
  degraded?: () => Promise<readonly string[]>;
}

/** How long a dependency may take to answer before it counts as away. */
const READY_TIMEOUT_MS = 3000;

/** What watches the server is answered however many wait. */
const WATCHING = policy({ queued: false });

const health = Type.Object({ success: Type.Literal(true), status: Type.String() });
const readiness = Type.Composite([
  health,
  Type.Object({ degraded: Type.Optional(Type.Array(Type.String())) }),
]);

/** `/livez`: the process answers. `/readyz`: what it needs answers, too, and what of it is in doubt. */
export function systemRoutes(dependencies: readonly Dependency[]) {
  return new Elysia()
    .get('/livez', () => Response.json({ success: true, status: 'alive' }), {
      detail: describe({
        id: 'getLiveness',
        tag: 'Server',
        summary: 'Whether the process answers',
        answers: {
          200: { description: 'It does.', schema: health, example: { success: true, status: 'alive' } },
        },
      }),
      ...WATCHING,
    })
    .get(
      '/readyz',
      async () => {
        const degraded = (await Promise.all(dependencies.map(answersInTime))).flat();
        if (degraded.length === 0) return Response.json({ success: true, status: 'ready' });
        return Response.json({ success: true, status: 'degraded', degraded });
      },
      {
        detail: describe({
          id: 'getReadiness',
          tag: 'Server',
          summary: 'Whether everything the server needs answers',
          answers: {
            200: {
              description: 'All of it; `degraded` says what does not work as it should.',
              schema: readiness,
              example: { success: true, status: 'ready' },
            },
          },
        }),
        ...WATCHING,
      },
    );
}

async function answersInTime({ name, check, degraded }: Dependency): Promise<readonly string[]> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`no answer within ${READY_TIMEOUT_MS} ms`)),
    READY_TIMEOUT_MS,
  );
  try {
    return await Promise.race([check().then(() => degraded?.() ?? []), late]);
  } catch (cause) {
    throw new AppError('unavailable', `The ${name} does not answer.`, { cause });
  } finally {
    clearTimeout(timer);
  }
}
