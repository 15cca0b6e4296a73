import { NOBODY, type TcpSocket } from '../runtime/tcp.ts';
import { formatTarget, type Target } from './target.ts';
import type { Upstream } from './upstream.ts';

/**
 * Connections that have served a request and may serve another one. Each serves only one target: many proxies read
 * the first request and then just pass bytes on, so a request for another target would reach the first one.
 */
export interface Idle {
  /** Returns a connection through the upstream to the target. It may have ended unnoticed. */
  take(upstream: Upstream, target: Target): TcpSocket | undefined;
  /** Keeps an idle connection. */
  put(upstream: Upstream, target: Target, socket: TcpSocket): void;
  /** Closes connections that were not used for a while. */
  sweep(): void;
  /** Closes all. */
  close(): void;
}

interface Resting {
  socket: TcpSocket;
  place: string;
  since: number;
}

/** Above this number, the longest unused is closed. */
const MOST_IDLE = 1024;
/** Maximum for one proxy and target. More concurrent requests are rare. */
const MOST_ALIKE = 4;
/** Servers commonly wait for 5 s or longer. */
const IDLE_MS = 4_500;

export function createIdle(monotonic: () => number): Idle {
  /** The longest unused first. */
  const all = new Set<Resting>();
  const byPlace = new Map<string, Resting[]>();

  function forget(one: Resting): void {
    if (!all.delete(one)) return;
    const alike = byPlace.get(one.place) ?? [];
    const rest = alike.filter((other) => other !== one);
    if (rest.length === 0) byPlace.delete(one.place);
    else byPlace.set(one.place, rest);
  }

  function end(one: Resting): void {
    forget(one);
    one.socket.listener = NOBODY;
    one.socket.destroy();
  }

  return {
    take(upstream, target) {
      const one = byPlace.get(placeOf(upstream, target))?.at(-1);
      if (one === undefined) return undefined;
      forget(one);
      return one.socket;
    },

    put(upstream, target, socket) {
      const place = placeOf(upstream, target);
      const alike = byPlace.get(place) ?? [];
      if (alike.length >= MOST_ALIKE) {
        socket.listener = NOBODY;
        socket.destroy();
        return;
      }
      const one = { socket, place, since: monotonic() };
      all.add(one);
      byPlace.set(place, [...alike, one]);
      // Any event makes it unusable: nobody has requested anything.
      const onEvent = () => end(one);
      socket.listener = { opened() {}, drained() {}, received: onEvent, ended: onEvent, closed: onEvent };
      socket.resume();
      if (all.size > MOST_IDLE) {
        const [oldest] = all;
        if (oldest) end(oldest);
      }
    },

    sweep() {
      const before = monotonic() - IDLE_MS;
      for (const one of all) {
        if (one.since > before) return;
        end(one);
      }
    },

    close() {
      for (const one of all) end(one);
    },
  };
}

function placeOf({ key }: Upstream, target: Target): string {
  return `${key} ${formatTarget(target)}`;
}
