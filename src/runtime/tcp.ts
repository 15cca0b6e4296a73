import type { LookupFunction } from 'node:net';
import type { SecureContext } from 'node:tls';

/**
 * Raw TCP for the gateway: both halves of a connection end separately, and nobody sends faster than the other side
 * reads.
 */
export interface Tcp {
  /** Starts to connect to a literal address, or a name with `lookup`. Calls `opened` or `closed` of the listener. */
  dial(address: string, port: number, listener: TcpListener, options?: DialOptions): TcpSocket;
  /**
   * Starts listening; `accept` returns the handler of a new connection, which it may also close. Rejects if the address
   * is taken.
   */
  listen(
    place: { hostname: string; port: number },
    accept: (socket: TcpSocket) => TcpListener,
  ): Promise<TcpServer>;
}

export interface DialOptions {
  /** The name or address for which the other side needs a verified certificate. Default: no TLS. */
  tls?: string | null | undefined;
  /** What is trusted for TLS. Default: the built-in authorities. */
  context?: (() => SecureContext) | undefined;
  /** Finds the address of a name. */
  lookup?: LookupFunction;
}

/** Receives the events of a connection. */
export interface TcpListener {
  /** The connection is established. Not called for accepted connections. */
  opened(): void;
  received(bytes: Uint8Array): void;
  /** The system has taken everything written, after a `write` that returned false. */
  drained(): void;
  /** The other side sends no more, but may still read. */
  ended(): void;
  /** Called once, and last. `fault` is the system's code, such as `ECONNREFUSED`; `null` after a graceful end. */
  closed(fault: string | null): void;
}

export interface TcpSocket {
  /** The other side's address, as the runtime spells it. */
  readonly peer: string;
  /** May be replaced at any time. */
  listener: TcpListener;
  /**
   * Sends all bytes, buffering what the system does not take yet. Returns false if the caller should wait for
   * `drained`.
   */
  write(bytes: Uint8Array): boolean;
  /** Stops reading, so that the other side has to wait. */
  pause(): void;
  resume(): void;
  /** Sends the buffered data and then ends our half. The connection closes when the other side has ended as well. */
  end(): void;
  /** Closes at once, discarding buffered data. What the system has taken up to our end still reaches a slow reader. */
  destroy(): void;
}

export interface TcpServer {
  readonly port: number;
  /** Stops accepting. Connections stay. */
  close(): void;
}

/** The listener of a connection whose events no longer matter. */
export const NOBODY: TcpListener = { opened() {}, received() {}, drained() {}, ended() {}, closed() {} };

/** Returns the bytes as a `Buffer`, which they usually are: a view costs more than most operations on them. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
