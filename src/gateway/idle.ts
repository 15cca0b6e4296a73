import { NOBODY, type TcpSocket } from '../runtime/tcp.ts';
import { formatTarget, type Target } from './target.ts';
import type { Upstream } from './upstream.ts';

interface Resting {
  socket: TcpSocket;
  since: number;
}

/** Above this number, the longest unused is closed. */
const MOST_IDLE = 1024;
/** Maximum for one proxy and target. More concurrent requests are rare. */
const MOST_ALIKE = 4;
/** Servers commonly wait for 5 s or longer. */
const IDLE_MS = 4_500;

/**
 * Connections that have served a request and may serve another one. Each serves only one target: many proxies read
 * the first request and then just pass bytes on, so a request for another target would reach the first one.
 */
export class Idle {
  readonly #monotonic: () => number;
  /** By place and number, the longest unused first. */
  readonly #resting = new Map<string, Resting>();

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Returns a connection through the upstream to the target. It may have ended unnoticed. */
  take(upstream: Upstream, target: Target): TcpSocket | undefined {
    for (const name of namesOf(upstream, target)) {
      const one = this.#resting.get(name);
      if (one === undefined) continue;
      this.#resting.delete(name);
      return one.socket;
    }
    return undefined;
  }

  /** Keeps an idle connection. */
  put(upstream: Upstream, target: Target, socket: TcpSocket): void {
    const name = namesOf(upstream, target).find((free) => !this.#resting.has(free));
    // Any event makes it unusable: nobody has requested anything.
    const onEvent = () => this.#end(name ?? '', socket);
    socket.listener = { opened() {}, drained() {}, received: onEvent, ended: onEvent, closed: onEvent };
    if (name === undefined) {
      onEvent();
      return;
    }
    this.#resting.set(name, { socket, since: this.#monotonic() });
    socket.resume();
    const [oldest] = this.#resting;
    if (oldest && this.#resting.size > MOST_IDLE) this.#end(oldest[0], oldest[1].socket);
  }

  /** Closes connections that were not used for a while; by default, all. */
  close(before = Number.POSITIVE_INFINITY): void {
    for (const [name, { socket, since }] of this.#resting) {
      if (since > before) return;
      this.#end(name, socket);
    }
  }

  sweep(): void {
    this.close(this.#monotonic() - IDLE_MS);
  }

  #end(name: string, socket: TcpSocket): void {
    if (this.#resting.get(name)?.socket === socket) this.#resting.delete(name);
    socket.listener = NOBODY;
    socket.destroy();
  }
}

function namesOf({ key }: Upstream, target: Target): string[] {
  return Array.from({ length: MOST_ALIKE }, (_, n) => `${n} ${key} ${formatTarget(target)}`);
}
