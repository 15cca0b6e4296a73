import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { AppError } from '../errors.ts';
import { within } from '../lib/deadline.ts';
import { describe } from './describe.ts';
import { policy } from './policy.ts';

/** A part of the server, with a check that rejects while it does not work. */
export interface Dependency {
  /** What is wrong in that case, as a sentence. */
  fault: string;
  check: () => Promise<unknown>;
  /** The service that cannot work without it, or `all` if none can. Missing if the services still work in part. */
  needed?: string;
  /** Returns what does not work properly although the check passed, as sentences. */
  degraded?: () => Promise<readonly string[]>;
}

/** Time limit for a dependency to answer. */
const READY_TIMEOUT_MS = 3000;

/** Monitoring is answered regardless of how many requests wait. */
const WATCHING = policy({ queued: false });

const health = Type.Object({ success: Type.Literal(true), status: Type.String() });
const readiness = Type.Composite([
  health,
  Type.Object({ degraded: Type.Optional(Type.Array(Type.String())) }),
]);

/**
 * Serves `/livez`, which shows that the process answers, and `/readyz`, which shows that its dependencies answer as
 * well, with any doubts.
 */
export function systemRoutes(dependencies: readonly Dependency[]) {
  return new Elysia()
    .get('/livez', () => Response.json({ success: true, status: 'alive' }), {
      detail: describe({
        id: 'getLiveness',
        tag: 'Server',
        summary: 'Check that the process is running',
        answers: {
          200: {
            description: 'The process is running.',
            schema: health,
            example: { success: true, status: 'alive' },
          },
        },
      }),
      ...WATCHING,
    })
    .get(
      '/readyz',
      async () => {
        const degraded = await lookAt(dependencies);
        if (degraded.length === 0) return Response.json({ success: true, status: 'ready' });
        return Response.json({ success: true, status: 'degraded', degraded });
      },
      {
        detail: describe({
          id: 'getReadiness',
          tag: 'Server',
          summary: 'Check that the server can serve requests',
          answers: {
            200: {
              description: 'The server is ready. `degraded` lists the parts with problems.',
              schema: readiness,
              example: { success: true, status: 'ready' },
            },
          },
        }),
        ...WATCHING,
      },
    );
}

/**
 * Returns what does not work, as sentences.
 * @throws {AppError} `unavailable` if no service can work.
 */
async function lookAt(dependencies: readonly Dependency[]): Promise<string[]> {
  const found = await Promise.all(dependencies.map(lookInTime));
  const services = new Set(dependencies.flatMap(({ needed }) => needed ?? []).filter(isService));
  const down = new Set(found.flatMap(({ down }) => down ?? []));
  const everyOne = services.size > 0 && [...services].every((service) => down.has(service));
  const faults = [...new Set(found.flatMap(({ faults }) => faults))];
  if (down.has('all') || everyOne) throw new AppError('unavailable', faults.join(' '), { cause: faults });
  return faults;
}

const isService = (name: string) => name !== 'all';

/** Returns what is wrong with one part; `down`: what cannot work because of it. */
async function lookInTime({
  fault,
  check,
  degraded,
  needed,
}: Dependency): Promise<{ faults: readonly string[]; down?: string | undefined }> {
  try {
    return {
      faults: await within(
        READY_TIMEOUT_MS,
        check().then(() => degraded?.() ?? []),
      ),
    };
  } catch {
    return { faults: [fault], down: needed };
  }
}
