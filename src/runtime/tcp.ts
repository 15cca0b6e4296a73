/** Raw TCP, as the gateway needs it: both halves of a connection end on their own, and nobody sends faster than the other reads. */
export interface Tcp {
  /** Starts to connect to a literal address. The listener gets `opened` or `closed`. */
  dial(address: string, port: number, listener: TcpListener): TcpSocket;
  /** Starts listening; `accept` returns the handler of a new connection. Rejects if the address is taken. */
  listen(
    place: { hostname: string; port: number },
    accept: (socket: TcpSocket) => TcpListener,
  ): Promise<TcpServer>;
}

/** Receives what happens to a connection. */
export interface TcpListener {
  /** The connection is established. Not called for accepted connections. */
  opened(): void;
  received(bytes: Uint8Array): void;
  /** All that was written has been taken by the system, after a `write` that answered false. */
  drained(): void;
  /** The other side sends no more, but may still read. */
  ended(): void;
  /** Once, and last. `fault` is the system's code, such as `ECONNREFUSED`; `null` after an orderly end. */
  closed(fault: string | null): void;
}

export interface TcpSocket {
  /** The other side's address, as the runtime spells it. */
  readonly peer: string;
  /** May be replaced at any time. */
  listener: TcpListener;
  /** Sends all bytes, keeping what the system does not take yet; false asks to wait for `drained`. */
  write(bytes: Uint8Array): boolean;
  /** Stops reading, so that the other side has to wait. */
  pause(): void;
  resume(): void;
  /** Sends what was kept, and then that nothing follows. The connection closes when the other side has ended as well. */
  end(): void;
  /** Closes at once, without the rest. */
  destroy(): void;
}

export interface TcpServer {
  readonly port: number;
  /** Stops accepting. Connections stay. */
  close(): void;
}

/** Listens to a connection of which nobody wants to know anything any more. */
export const NOBODY: TcpListener = { opened() {}, received() {}, drained() {}, ended() {}, closed() {} };

/** The bytes as a `Buffer`, which they mostly are: a view of them costs more than most of what is done with them. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
