import type { Socket } from 'bun';
import { nodeTcp } from './node-tcp.ts';
import { NOBODY, type Tcp, type TcpListener, type TcpServer, type TcpSocket } from './tcp.ts';

/**
 * Maximum number of dials that were abandoned before they connected. Bun cannot end them: they last as long as the
 * system tries, about two minutes without any answer. Beyond this number `node:net` dials, which costs twice as much
 * but can be ended.
 */
const MOST_ABANDONED = 128;
let abandoned = 0;

/** TCP over Bun's own sockets, which cost half as much as those of `node:net`. */
export const bunTcp: Tcp = {
  dial(address, port, listener, how) {
    if (abandoned >= MOST_ABANDONED || how?.tls || how?.lookup)
      return nodeTcp.dial(address, port, listener, how);
    const dialled = new BunSocket(listener);
    const options = { hostname: address, port, allowHalfOpen: true, data: dialled, socket: HANDLERS };
    // Failures are also reported to the handlers.
    Bun.connect<BunSocket>(options).catch(() => {});
    return dialled;
  },

  async listen({ hostname, port }, accept) {
    const server = Bun.listen<BunSocket>({
      hostname,
      port,
      allowHalfOpen: true,
      socket: {
        ...HANDLERS,
        open(socket) {
          const accepted = new BunSocket(NOBODY);
          accepted.accepted(socket);
          socket.data = accepted;
          accepted.attach(accept(accepted));
        },
      },
    });
    return { port: server.port, close: () => server.stop(false) } satisfies TcpServer;
  },
};

class BunSocket implements TcpSocket {
  listener: TcpListener;
  /** `null` until connected. */
  #socket: Socket<BunSocket> | null = null;
  /** Data that the system has not taken yet, in order. */
  #kept: Uint8Array[] = [];
  #phase: 'connecting' | 'abandoned' | 'open' | 'ending' | 'ended' | 'closed' = 'connecting';
  #otherEnded = false;
  #paused = false;

  constructor(listener: TcpListener) {
    this.listener = listener;
  }

  get peer(): string {
    return this.#socket?.remoteAddress ?? '';
  }

  write(bytes: Uint8Array): boolean {
    if (this.#phase !== 'open' || this.#socket === null) return true;
    if (this.#kept.length === 0) {
      const sent = Math.max(0, this.#socket.write(bytes));
      if (sent === bytes.length) return true;
      this.#kept.push(bytes.subarray(sent));
    } else this.#kept.push(bytes);
    return false;
  }

  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#socket?.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#socket?.resume();
  }

  end(): void {
    if (this.#phase === 'connecting') this.destroy();
    if (this.#phase !== 'open') return;
    this.#phase = 'ending';
    if (this.#kept.length === 0) this.#finish();
  }

  destroy(): void {
    this.#kept = [];
    if (this.#phase === 'connecting') {
      this.#phase = 'abandoned';
      abandoned++;
      this.listener.closed(null);
      return;
    }
    // After a cut, the other side's end is not reported.
    this.#otherEnded = true;
    if (this.#phase === 'ended') this.#socket?.end();
    else if (this.#phase !== 'closed') this.#socket?.terminate();
  }

  /** Sets the first listener. It also hears of an end that came before. */
  attach(listener: TcpListener): void {
    this.listener = listener;
    if (this.#phase === 'closed') listener.closed(null);
  }

  accepted(socket: Socket<BunSocket>): void {
    this.#socket = socket;
    this.#phase = 'open';
  }

  opened(socket: Socket<BunSocket>): void {
    this.#socket = socket;
    if (this.#phase === 'abandoned') {
      socket.terminate();
      return;
    }
    this.#phase = 'open';
    this.listener.opened();
  }

  /** Sends the buffered data, because the system has room again. */
  flush(): void {
    const socket = this.#socket;
    // Bun also calls it where nothing waited, such as when the other side ends.
    if (socket === null || this.#kept.length === 0) return;
    while (this.#kept.length > 0) {
      const [first = new Uint8Array()] = this.#kept;
      const sent = Math.max(0, socket.write(first));
      if (sent < first.length) {
        this.#kept[0] = first.subarray(sent);
        return;
      }
      this.#kept.shift();
    }
    if (this.#phase === 'ending') this.#finish();
    else if (this.#phase === 'open') this.listener.drained();
  }

  ended(): void {
    this.#otherEnded = true;
    this.listener.ended();
    if (this.#phase === 'ended') this.#socket?.end();
  }

  closed(error: unknown): void {
    if (this.#phase === 'abandoned') {
      this.#phase = 'closed';
      abandoned--;
      return;
    }
    if (this.#phase === 'closed') return;
    const shutDown = this.#phase === 'ended';
    this.#phase = 'closed';
    this.#kept = [];
    const code = error instanceof Error && 'code' in error ? String(error.code) : null;
    // After our end, on a dialled connection Bun reports the other side's end only by closing.
    if (code === null && shutDown && !this.#otherEnded) this.listener.ended();
    this.listener.closed(code);
  }

  #finish(): void {
    this.#phase = 'ended';
    // If the other half has also ended, only `end` closes the connection.
    if (this.#otherEnded) this.#socket?.end();
    else this.#socket?.shutdown();
  }
}

const HANDLERS = {
  open: (socket: Socket<BunSocket>) => socket.data.opened(socket),
  data: (socket: Socket<BunSocket>, bytes: Uint8Array) => socket.data.listener.received(bytes),
  drain: (socket: Socket<BunSocket>) => socket.data.flush(),
  end: (socket: Socket<BunSocket>) => socket.data.ended(),
  close: (socket: Socket<BunSocket>, error?: Error) => socket.data.closed(error),
  error: (socket: Socket<BunSocket>) => socket.data.destroy(),
  connectError: (socket: Socket<BunSocket>, error: Error) => socket.data.closed(error),
};
