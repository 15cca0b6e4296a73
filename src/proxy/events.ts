import { every, type Repetition } from '../lib/schedule.ts';
import type { RefreshJob } from './refresh/progress.ts';
import type { ProxyService } from './service.ts';
import { jobView, sourceProgressView } from './views.ts';

/** Below the 30 to 60 s after which proxies in between give up on silent connections. */
const HEARTBEAT_MS = 15_000;

/** How often it is looked up whether the pool has changed, where someone wants to know. */
const POOL_MS = 5_000;

/** How long a client should wait before it comes back. */
const RETRY_MS = 3_000;

/**
 * The refresh as server-sent events: its state now, then each change, for as long as the client listens. Of the
 * lists an event has those that changed since the event before; a client that comes back with the id of an event is
 * told nothing until there is more to tell. One that reads slowly gets fewer events, the latest always among them. With
 * `pool`, further events tell the size of the pool when it has changed. Ends when `signal` aborts.
 */
export function refreshEvents(
  service: Pick<ProxyService, 'subscribe'>,
  current: RefreshJob,
  { lastId, signal, pool, poolMs = POOL_MS, onEnd }: RefreshEventsOptions,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const eventOf = createEvents();
  let opening = `retry: ${RETRY_MS}\n\n`;
  let latest: RefreshJob | null = current;
  if (eventOf.idOf(current) === lastId) {
    eventOf.next(current);
    latest = null;
    opening += ': nothing has changed\n\n';
  }
  let wake = () => {};
  const unsubscribe = service.subscribe((job) => {
    latest = job;
    wake();
  });
  const heartbeat = setInterval(() => wake(), HEARTBEAT_MS);
  let stats: object | null = null;
  const watch =
    pool &&
    watchPool(pool, poolMs, (changed) => {
      stats = changed;
      wake();
    });
  const onAbort = () => wake();
  signal.addEventListener('abort', onAbort, { once: true });
  let ended = false;
  const end = () => {
    if (ended) return;
    ended = true;
    unsubscribe();
    clearInterval(heartbeat);
    watch?.stop();
    signal.removeEventListener('abort', onAbort);
    onEnd();
  };

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (!latest && !stats && opening === '' && !signal.aborted) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        if (ended) return;
        if (signal.aborted) {
          end();
          controller.close();
          return;
        }
        const event = latest ? eventOf.next(latest) : '';
        const size = stats ? `event: pool\ndata: ${JSON.stringify(stats)}\n\n` : '';
        controller.enqueue(encoder.encode(opening + event + size || ': still here\n\n'));
        opening = '';
        latest = null;
        stats = null;
      },
      cancel() {
        end();
        wake();
      },
    },
    { highWaterMark: 0 },
  );
}

export interface RefreshEventsOptions {
  /** Of the event that the client had last. */
  lastId: string | null;
  signal: AbortSignal;
  /** If events of the pool's size are wanted. */
  pool?: Pick<ProxyService, 'version' | 'stats'> | null;
  /** How often the pool is looked at; every five seconds when not given. */
  poolMs?: number;
  onEnd: () => void;
}

/** Calls back with the statistics of the pool whenever they may have changed, the first time since it was called. */
function watchPool(
  { version, stats }: Pick<ProxyService, 'version' | 'stats'>,
  everyMs: number,
  tell: (stats: object) => void,
): Repetition {
  let told: string | null = null;
  const look = async () => {
    const current = await version();
    if (told !== null && current !== told) tell(await stats());
    told = current;
  };
  // An unavailable store is reported elsewhere.
  const onError = () => {};
  look().catch(onError);
  return every(everyMs, look, onError);
}

/** Makes the events of one stream. */
function createEvents() {
  let jobId: string | null = null;
  /** Lists as last sent. */
  const told = new Map<string, string>();

  return {
    idOf,
    next(job: RefreshJob): string {
      if (job.id !== jobId) told.clear();
      jobId = job.id;
      const sources = job.sources.map(sourceProgressView).filter((source) => {
        const text = JSON.stringify(source);
        if (told.get(source.name) === text) return false;
        told.set(source.name, text);
        return true;
      });
      return `id: ${idOf(job)}\nevent: progress\ndata: ${JSON.stringify({ ...jobView(job), sources })}\n\n`;
    },
  };
}

/** The same for the same standing of the same refresh, in each copy of the server. */
function idOf({ id, state, stage, fetched, checked, removed }: RefreshJob): string {
  return [id, state, stage, fetched, checked, removed].join('.');
}
