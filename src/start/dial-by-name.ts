import type { SecureContext } from 'node:tls';
import { canonicalAddress, isHostName } from '../lib/address.ts';
import { resolveHost } from '../lib/resolve-host.ts';
import type { Tcp, TcpListener, TcpSocket } from '../runtime/tcp.ts';

interface ByNameOptions {
  /** Returns why an address must not be dialled, or `null` if it may be. */
  refusalOf: (place: { ip: string; port: number }) => string | null;
  /** What is trusted for TLS to a proxy. */
  context: () => SecureContext;
  /** Resolves a name to all its addresses. Default: the system's resolver. */
  resolve?: (host: string) => Promise<readonly { address: string }[]>;
}

/**
 * Dials proxies by address or name. A name is looked up at each dial. All its addresses must be ones that may be
 * dialled, and the address that was judged is dialled, so that a name that changes gains nothing.
 */
export function dialByName<T extends Pick<Tcp, 'dial'>>(
  tcp: T,
  { refusalOf, context, resolve = resolveHost }: ByNameOptions,
): T {
  async function addressOf(host: string, port: number): Promise<string> {
    const found = (await resolve(host)).map(({ address }) => canonicalAddress(address) ?? address);
    const refusal = found.map((ip) => refusalOf({ ip, port })).find((reason) => reason !== null);
    const [first] = found;
    if (first === undefined || refusal !== undefined) throw new Error(refusal ?? 'no address');
    return first;
  }

  const dial: Tcp['dial'] = (host, port, listener, tls) => {
    if (!isHostName(host)) return tcp.dial(host, port, listener, tls, context);
    return new LateSocket(listener, addressOf(host, port), (address, current) =>
      tcp.dial(address, port, current, tls, context),
    );
  };
  return { ...tcp, dial };
}

/** A connection that is dialled once its address is known. */
class LateSocket implements TcpSocket {
  #listener: TcpListener;
  #socket: TcpSocket | null = null;
  #isOver = false;

  constructor(
    listener: TcpListener,
    address: Promise<string>,
    dial: (address: string, listener: TcpListener) => TcpSocket,
  ) {
    this.#listener = listener;
    address.then(
      (found) => {
        if (!this.#isOver) this.#socket = dial(found, this.#listener);
      },
      () => this.destroy(),
    );
  }

  get peer(): string {
    return this.#socket?.peer ?? '';
  }

  get listener(): TcpListener {
    return this.#listener;
  }

  set listener(listener: TcpListener) {
    this.#listener = listener;
    if (this.#socket) this.#socket.listener = listener;
  }

  write(bytes: Uint8Array): boolean {
    return this.#socket?.write(bytes) ?? true;
  }

  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    this.#socket?.resume();
  }

  end(): void {
    if (this.#socket) this.#socket.end();
    else this.destroy();
  }

  destroy(): void {
    if (this.#socket) this.#socket.destroy();
    else if (!this.#isOver) {
      this.#isOver = true;
      this.#listener.closed(null);
    }
  }
}
