import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { AppError } from '../errors.ts';
import { within } from '../lib/deadline.ts';
import { describe } from './describe.ts';
import { policy } from './policy.ts';

/** One part of what the server does, and a call that rejects while it does not work. */
export interface Dependency {
  /** What is wrong then, in a sentence. */
  fault: string;
  check: () => Promise<unknown>;
  /**
   * The service that can serve nothing without it, or `all` if no service can; not given where the services serve on in
   * part.
   */
  needed?: string;
  /** What does not work as it should though the check went well, in sentences. */
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

/** `/livez`: the process answers. `/readyz`: what it needs answers as well, and what of it is in doubt. */
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
 * What does not work, in sentences.
 * @throws {AppError} `unavailable` if no service can serve anything.
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

/** What is wrong with one part; `down`: what cannot serve because of it. */
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
