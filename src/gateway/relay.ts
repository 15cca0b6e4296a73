import type { TcpListener, TcpSocket } from '../runtime/tcp.ts';
import type { Carrier } from './desk.ts';
import { STALLED_MS } from './upstream.ts';

/** Who has ended a tunnel. */
export type EndedBy = 'client' | 'upstream' | 'limit';

/** A tunnel that its client has ended is closed sooner, once he has read what came. */
const ENDED_MS = 60_000;

interface RelayOptions {
  client: TcpSocket;
  upstream: TcpSocket;
  monotonic: () => number;
  /** Called about once a second. */
  onLook: (now: number) => void;
  /** Called with the bytes as they pass. Returning false ends the tunnel. */
  onBytes: (direction: 'up' | 'down', bytes: Uint8Array) => boolean;
  onEnd: (by: EndedBy) => void;
}

/** Relays bytes in both directions until both sides have ended, each no faster than the other reads. */
export class Relay implements Carrier {
  movedAt: number;
  /** When the upstream last sent something, or could again; infinite while the client has bytes left to read. */
  cameAt = 0;
  /** True once the client has let the upstream wait for so long that the target may give up. */
  isUnread = false;
  /** When the client ended; infinitely long ago while it has not. */
  leftAt = Number.NEGATIVE_INFINITY;
  readonly look: (now: number) => void;
  readonly #options: RelayOptions;
  #ended: 'client' | 'upstream' | null = null;
  /** True once the upstream sends no more. */
  #isWhole = false;
  #over = false;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.movedAt = options.monotonic();
    const { client, upstream } = options;
    this.look = options.onLook;
    client.listener = this.#side('up', client, upstream);
    upstream.listener = this.#side('down', upstream, client);
    client.resume();
    upstream.resume();
  }

  get patienceMs(): number {
    return this.#ended === 'client' && Number.isFinite(this.cameAt) ? ENDED_MS : Number.POSITIVE_INFINITY;
  }

  /** Counts and sends what was received before the relay began. */
  carry(direction: 'up' | 'down', bytes: Uint8Array): void {
    const { client, upstream } = this.#options;
    if (bytes.length > 0) this.#carry(direction, bytes, direction === 'up' ? client : upstream);
  }

  cut(): void {
    this.#end('limit');
  }

  #side(direction: 'up' | 'down', from: TcpSocket, to: TcpSocket): TcpListener {
    const name = direction === 'up' ? 'client' : 'upstream';
    return {
      opened() {},
      received: (bytes) => this.#carry(direction, bytes, from),
      drained: () => {
        this.#noteUnread();
        this.movedAt = this.#options.monotonic();
        if (direction === 'up') this.cameAt = this.movedAt;
        to.resume();
      },
      ended: () => {
        if (direction === 'up') this.leftAt = this.#options.monotonic();
        this.#ended ??= name;
        this.#isWhole ||= direction === 'down';
        to.end();
      },
      closed: (fault) => {
        // A graceful end, or the other side still reads. Otherwise that side must notice that data is missing.
        if (fault !== null || !this.#isWhole || this.#open-- === 1) this.#end(name);
      },
    };
  }
  #open = 2;

  #carry(direction: 'up' | 'down', bytes: Uint8Array, from: TcpSocket): void {
    const { client, upstream, monotonic, onBytes } = this.#options;
    this.movedAt = monotonic();
    if (direction === 'down') this.cameAt = this.movedAt;
    if (!onBytes(direction, bytes)) {
      this.#end('limit');
      return;
    }
    const isTaken = (direction === 'up' ? upstream : client).write(bytes);
    if (isTaken) return;
    if (direction === 'down') this.cameAt = Number.POSITIVE_INFINITY;
    from.pause();
  }

  #noteUnread(): void {
    const isWaiting = this.cameAt === Number.POSITIVE_INFINITY;
    this.isUnread ||= isWaiting && this.#options.monotonic() - this.movedAt >= STALLED_MS;
  }

  #end(by: EndedBy): void {
    if (this.#over) return;
    this.#over = true;
    this.#noteUnread();
    const { client, upstream, monotonic, onEnd } = this.#options;
    if (by === 'client' && this.#ended === null) this.leftAt = monotonic();
    client.destroy();
    upstream.destroy();
    // A client that has only ended its half still waited.
    onEnd(by === 'limit' && this.#ended === 'client' ? by : (this.#ended ?? by));
  }
}
