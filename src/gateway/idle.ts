import { OwnedMap } from '../lib/owned-map.ts';
import { NOBODY, type TcpSocket } from '../runtime/tcp.ts';
import { formatTarget, type Target } from './target.ts';
import type { Upstream } from './upstream.ts';

interface Resting {
  socket: TcpSocket;
  since: number;
  end: () => void;
}

const MOST_IDLE = 1024;
/** Servers commonly wait for 5 s or longer. */
export const IDLE_MS = 4_500;

/**
 * Connections that have served a request and may serve another one. Each serves only one target: many proxies read
 * the first request and then just pass bytes on, so a request for another target would reach the first one.
 */
export class Idle {
  readonly #monotonic: () => number;
  /** By proxy and target, numbered. */
  readonly #resting = new OwnedMap<Resting>(MOST_IDLE, (_, { end }) => end());
  #count = 0;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Returns a connection through the upstream to the target. It may have ended unnoticed. */
  take(upstream: Upstream, target: Target): TcpSocket | undefined {
    const place = placeOf(upstream, target);
    // The latest, so that those that many requests at once have left over end unused.
    const [name = '', latest] = [...(this.#resting.of(place) ?? [])].at(-1) ?? [];
    this.#resting.delete(place, name);
    return latest?.socket;
  }

  /** Keeps an idle connection. */
  put(upstream: Upstream, target: Target, socket: TcpSocket): void {
    const [place, name] = [placeOf(upstream, target), `${this.#count++}`];
    const end = () => {
      this.#resting.delete(place, name);
      socket.listener = NOBODY;
      socket.destroy();
    };
    // Any event makes it unusable: nobody has requested anything.
    socket.listener = { opened() {}, drained() {}, received: end, ended: end, closed: end };
    this.#resting.set(place, name, { socket, since: this.#monotonic(), end });
    socket.resume();
  }

  /** Closes connections that were not used for a while; by default, all. */
  close(before = Number.POSITIVE_INFINITY): void {
    for (const alike of this.#resting.all())
      for (const { since, end } of alike.values()) if (since <= before) end();
  }
}

function placeOf({ key }: Upstream, target: Target): string {
  return `${key} ${formatTarget(target)}`;
}
