import { connect, createServer, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { NOBODY, type Tcp, type TcpListener, type TcpServer, type TcpSocket } from './tcp.ts';

/** Maximum number of connections waiting to be accepted. */
const BACKLOG = 4096;

/**
 * TCP over `node:net`, for Deno. Bun also uses it to dial, because an attempt of `Bun.connect` cannot be abandoned.
 */
export const nodeTcp: Tcp = {
  dial(address, port, listener, { tls, context, lookup } = {}) {
    const place = { host: address, port, allowHalfOpen: true, noDelay: true, autoSelectFamily: false };
    const options = lookup ? { ...place, lookup } : place;
    if (!tls) return new NodeSocket(connect(options), listener);
    const secure = {
      ...(isIP(tls) === 0 && { servername: tls }),
      ...(context && { secureContext: context() }),
    };
    return new NodeSocket(connectTls({ ...options, ...secure, ALPNProtocols: ['http/1.1'] }), listener, true);
  },

  async listen({ hostname, port }, accept) {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      const accepted = new NodeSocket(socket, NOBODY);
      accepted.listener = accept(accepted);
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, hostname, BACKLOG, resolve);
    });
    const address = server.address();
    const bound = typeof address === 'object' && address !== null ? address.port : port;
    return { port: bound, close: () => void server.close() } satisfies TcpServer;
  },
};

class NodeSocket implements TcpSocket {
  listener: TcpListener;
  readonly peer: string;
  readonly #socket: Socket;
  readonly #isTls: boolean;
  #fault: string | null = null;

  constructor(socket: Socket, listener: TcpListener, isTls = false) {
    this.#socket = socket;
    this.#isTls = isTls;
    this.listener = listener;
    this.peer = socket.remoteAddress ?? '';
    socket.on(isTls ? 'secureConnect' : 'connect', () => this.listener.opened());
    socket.on('data', (bytes: Buffer) => this.listener.received(bytes));
    socket.on('drain', () => this.listener.drained());
    socket.on('end', () => this.listener.ended());
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#fault ??= error.code ?? error.message;
    });
    socket.on('close', () => this.listener.closed(this.#fault));
  }

  write(bytes: Uint8Array): boolean {
    return this.#socket.writable ? this.#socket.write(bytes) : true;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    // A reset leaves no TIME_WAIT behind, but needs an established connection.
    if (this.#isTls || this.#socket.connecting || this.#socket.writableFinished) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
  }
}
