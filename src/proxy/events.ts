import type { RefreshJob } from './refresh/progress.ts';
import type { ProxyService } from './service.ts';
import { jobView } from './views.ts';

/** Below the 30 to 60 s after which proxies in between give up on silent connections. */
const HEARTBEAT_MS = 15_000;

/**
 * The refresh as server-sent events: where it stands now, then each change, for as long as the client listens. A
 * client that reads slowly gets fewer events, the latest always among them. Ends when `signal` aborts.
 */
export function refreshEvents(
  service: Pick<ProxyService, 'subscribe'>,
  current: RefreshJob,
  signal: AbortSignal,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let latest: RefreshJob | null = current;
  let wake = () => {};
  const unsubscribe = service.subscribe((job) => {
    latest = job;
    wake();
  });
  const heartbeat = setInterval(() => wake(), HEARTBEAT_MS);
  const onAbort = () => wake();
  signal.addEventListener('abort', onAbort, { once: true });
  let ended = false;
  const end = () => {
    if (ended) return;
    ended = true;
    unsubscribe();
    clearInterval(heartbeat);
    signal.removeEventListener('abort', onAbort);
    onEnd();
  };

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (!latest && !signal.aborted) {
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
        controller.enqueue(encoder.encode(latest ? eventOf(latest) : ': still here\n\n'));
        latest = null;
      },
      cancel() {
        end();
        wake();
      },
    },
    { highWaterMark: 0 },
  );
}

function eventOf(job: RefreshJob): string {
  return `event: progress\ndata: ${JSON.stringify(jobView(job))}\n\n`;
}
