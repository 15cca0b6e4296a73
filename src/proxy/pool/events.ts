import { createHash } from 'node:crypto';
import { every, type Repetition } from '../../lib/schedule.ts';
import type { RefreshJob } from '../refresh/progress.ts';
import type { ProxyService } from '../service.ts';
import { jobView, sourceProgressView } from '../views.ts';

/** Shorter than the 30 to 60 s after which reverse proxies drop silent connections. */
const HEARTBEAT_MS = 15_000;

/** How often the pool is checked for changes while someone listens. */
const POOL_MS = 5_000;

/** How long a client should wait before it reconnects. */
const RETRY_MS = 3_000;

/**
 * Streams the refresh as server-sent events: its current state, then each change, for as long as the client
 * listens. An event contains the lists that changed since the event before. A client that reconnects with the
 * ID of an event gets nothing until there is news. A slow reader gets fewer events, but always the latest.
 * With `pool`, further events give the size of the pool when it changes, and to a client that reconnects. Ends when
 * `signal` aborts.
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
  if (idOf(current) === lastId) {
    eventOf(current);
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
    watchPool(pool, poolMs, lastId === null ? undefined : 'at the last event', (changed) => {
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
        const event = latest ? eventOf(latest) : '';
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

interface RefreshEventsOptions {
  lastId: string | null;
  signal: AbortSignal;
  /** Set if the client wants events about the size of the pool. */
  pool?: Pick<ProxyService, 'version' | 'stats'> | null;
  /** How often the pool is checked. Default: every five seconds. */
  poolMs?: number;
  onEnd: () => void;
}

/** Calls back with the statistics of the pool whenever they may have changed: since `told`, or else this call. */
function watchPool(
  { version, stats }: Pick<ProxyService, 'version' | 'stats'>,
  everyMs: number,
  told: string | undefined,
  tell: (stats: object) => void,
): Repetition {
  const look = async () => {
    const current = await version();
    if (told !== undefined && current !== told) tell(await stats());
    told = current;
  };
  // Errors of the store are reported elsewhere.
  const onError = () => {};
  look().catch(onError);
  return every(everyMs, look, onError);
}

function createEvents() {
  let jobId: string | null = null;
  /** Lists as last sent. */
  const told = new Map<string, string>();

  return (job: RefreshJob): string => {
    if (job.id !== jobId) told.clear();
    jobId = job.id;
    const sources = job.sources.map(sourceProgressView).filter((source) => {
      const text = JSON.stringify(source);
      if (told.get(source.name) === text) return false;
      told.set(source.name, text);
      return true;
    });
    return `id: ${idOf(job)}\nevent: progress\ndata: ${JSON.stringify({ ...jobView(job), sources })}\n\n`;
  };
}

/** Returns the same ID for the same state of the same refresh and its lists, in every copy of the server. */
function idOf({ id, state, stage, fetched, checked, removed, sources }: RefreshJob): string {
  const lists = createHash('sha256').update(JSON.stringify(sources)).digest('base64url').slice(0, 8);
  return [id, state, stage, fetched, checked, removed, lists].join('.');
}
