import { randomBytes } from 'node:crypto';
import { AppError, inEnglish } from '../errors.ts';
import { errorResponse } from '../http/errors.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/logger.ts';
import type { Handler, HttpServer } from '../runtime/runtime.ts';
import type { Listening } from './listen.ts';

/** Pause before the stores are tried again, in ms; trying them takes some seconds itself. */
const PAUSE_MS = 1000;

export interface RunningServer {
  /** Where it listens: `http://localhost:3000`, or `unix:/run/picpool/http.sock`. */
  url: string;
  /** What else it listens on, by name; empty while it waits for its records. */
  addresses: Record<string, string>;
  /** Starts a process for conversions and says how it is sandboxed; `null` if there are none, and while it waits. Never rejects. */
  sandbox(): Promise<string> | null;
  /** True if it has to wait for its records. */
  waits: boolean;
  /** Resolves when it serves. Rejects if it cannot be completed after a wait. */
  complete: Promise<void>;
  /** See `createShutdown`. */
  stop(): Promise<void>;
}

/** Everything created over open stores. */
export interface House {
  handle: Handler;
  addresses: Record<string, string>;
  sandbox(): Promise<string> | null;
  /** Starts timers and jobs. Called once the server listens. */
  begin(): void;
  stop(server: HttpServer): Promise<void>;
  /** Closes everything if it has never begun. */
  abandon(): Promise<void>;
}

interface WaitingOptions {
  open: () => Promise<House>;
  listen: (handle: Handler) => Promise<Listening>;
  /** Reports whether the error of `open` is temporary. */
  isAway: (error: unknown) => boolean;
  clock: Pick<Clock, 'sleep'>;
  log: Log;
}

/**
 * Creates a server whose stores may be unavailable at its start. Until they answer, it is alive but not ready, and
 * asks all clients to come back. Rejects with the lasting errors of `open` and `listen`.
 */
export async function whenStoresAnswer(options: WaitingOptions): Promise<RunningServer> {
  const { open, listen, isAway, clock, log } = options;
  const stopping = new AbortController();

  function tryToOpen(first: boolean): Promise<House | null> {
    return open().catch((error: unknown) => {
      if (!isAway(error)) throw error;
      if (first) log('warn', 'the record store does not respond; waiting for it', { cause: causeOf(error) });
      return null;
    });
  }

  async function finish(): Promise<void> {
    while (!house) {
      await clock.sleep(PAUSE_MS, stopping.signal).catch(() => {});
      if (stopping.signal.aborted) return;
      const found = await tryToOpen(false);
      if (stopping.signal.aborted) return found?.abandon();
      house = found;
    }
    house.begin();
    log('info', 'the record store responds', { ...house.addresses });
  }

  let house = await tryToOpen(true);
  const { server, url } = await listen((request, peer) =>
    (house?.handle ?? askToComeAgain)(request, peer),
  ).catch(async (error: unknown) => {
    await house?.abandon();
    throw error;
  });
  house?.begin();
  const waits = house === null;
  const complete = waits ? finish() : Promise.resolve();
  complete.catch(() => {});
  return {
    url,
    addresses: house?.addresses ?? {},
    sandbox: () => house?.sandbox() ?? null,
    waits,
    complete,
    async stop() {
      stopping.abort();
      await complete.catch(() => {});
      await (house ? house.stop(server) : server.close());
    },
  };
}

/** The answer of a server without records. */
const askToComeAgain: Handler = (request) => {
  const id = randomBytes(8).toString('hex');
  // The host in it is what the client says, or missing.
  const alive = /^(https?:\/\/[^/]*)?\/livez(\?|$)/.test(request.url);
  const response = alive
    ? Response.json({ success: true, status: 'alive' })
    : errorResponse(new AppError('unavailable', inEnglish('The record store does not respond yet.')), id);
  response.headers.set('x-content-type-options', 'nosniff');
  response.headers.set('x-request-id', id);
  return request.method === 'HEAD' ? new Response(null, response) : response;
};

const causeOf = (error: unknown) => (error instanceof Error ? (error.cause ?? error) : error);
