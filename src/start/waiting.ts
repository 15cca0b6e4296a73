import { randomBytes } from 'node:crypto';
import { AppError } from '../errors.ts';
import { errorResponse } from '../http/errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/logger.ts';
import type { Handler, HttpServer } from '../runtime/runtime.ts';
import type { Listening } from './listen.ts';

/** Pause before the stores are asked again, in ms; asking them takes some seconds itself. */
const PAUSE_MS = 1000;

export interface RunningServer {
  /** Where it listens: `http://localhost:3000`, or `unix:/run/picpool/http.sock`. */
  url: string;
  /** What else is listened on, by name; nothing while it waits for its records. */
  addresses: Record<string, string>;
  /** How conversions are sandboxed; `null` if there are none, and while it waits. */
  sandbox: string | null;
  /** True if it has to wait for its records. */
  waits: boolean;
  /** Resolves when it serves; rejects if, after a wait, it cannot be put together. */
  complete: Promise<void>;
  /** See `createShutdown`. */
  stop(): Promise<void>;
}

/** All that is put together over open stores. */
export interface House {
  handle: Handler;
  addresses: Record<string, string>;
  sandbox: string | null;
  /** Begins timers and jobs; called once the server listens. */
  begin(): void;
  stop(server: HttpServer): Promise<void>;
  /** Closes everything, where it has never begun. */
  abandon(): Promise<void>;
}

export interface WaitingOptions {
  open: () => Promise<House>;
  listen: (handle: Handler) => Promise<Listening>;
  /** Whether what `open` has thrown will pass on its own. */
  isAway: (error: unknown) => boolean;
  clock: Pick<Clock, 'sleep'>;
  log: Log;
}

/**
 * A server over stores that may be away at its start. Until they answer, it lives, is not ready, and asks all others to come
 * again. Rejects with whatever `open` and `listen` reject with, but for what passes.
 */
export async function whenStoresAnswer(options: WaitingOptions): Promise<RunningServer> {
  const { open, listen, isAway, log } = options;
  const house = await open().catch((error: unknown) => {
    if (!isAway(error)) throw error;
    log('warn', 'the record store does not respond; waiting for it', { cause: causeOf(error) });
    return null;
  });
  if (house === null) return wait(options);
  const { server, url } = await listen(house.handle).catch(async (error: unknown) => {
    await house.abandon();
    throw error;
  });
  house.begin();
  const { addresses, sandbox } = house;
  return {
    url,
    addresses,
    sandbox,
    waits: false,
    complete: Promise.resolve(),
    stop: () => house.stop(server),
  };
}

async function wait({ open, listen, isAway, clock, log }: WaitingOptions): Promise<RunningServer> {
  let handle: Handler = askToComeAgain;
  let house: House | null = null;
  const stopping = new AbortController();
  const { server, url } = await listen((request, peer) => handle(request, peer));

  async function finish(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(PAUSE_MS, stopping.signal).catch(() => {});
      if (stopping.signal.aborted) return;
      const found = await open().catch((error: unknown) => {
        if (!isAway(error)) throw error;
        return null;
      });
      if (found === null) continue;
      if (stopping.signal.aborted) return found.abandon();
      house = found;
      handle = found.handle;
      found.begin();
      return log('info', 'the record store responds', { ...found.addresses });
    }
  }

  const complete = finish();
  complete.catch(() => {});
  return {
    url,
    addresses: {},
    sandbox: null,
    waits: true,
    complete,
    async stop() {
      stopping.abort();
      await complete.catch(() => {});
      await (house ? house.stop(server) : server.close());
    },
  };
}

/** What a server answers that has no records yet. */
const askToComeAgain: Handler = (request) => {
  const id = randomBytes(8).toString('hex');
  const { pathname } = new URL(request.url);
  const alive = pathname === '/livez';
  const response = alive
    ? Response.json({ success: true, status: 'alive' })
    : errorResponse(new AppError('unavailable', 'The record store does not respond yet.'), id);
  response.headers.set('x-content-type-options', 'nosniff');
  response.headers.set('x-request-id', id);
  return request.method === 'HEAD' ? new Response(null, response) : response;
};

function causeOf(error: unknown): unknown {
  return error instanceof Error ? (error.cause ?? error) : error;
}
