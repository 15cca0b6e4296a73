import type { Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { CheckFault, connectFault, type FaultCode } from './fault.ts';

const NOTHING = Buffer.alloc(0);

export interface ConnectionOptions {
  /** A socket that has begun to connect. */
  socket: Socket;
  /** From the start until the TCP connection stands. */
  connectTimeoutMs: number;
  /** From the start until everything is done. */
  timeoutMs: number;
  /** A clock in ms that never goes back. */
  monotonic: () => number;
}

/**
 * One conversation over a socket, read in bounded pieces. Every method rejects with `CheckFault`:
 * those of `FaultCode`. It holds no more than the
 * bytes asked for and one chunk of the system.
 */
export interface Connection {
  /** Resolves when the TCP connection stands. */
  open(): Promise<void>;
  write(data: string | Uint8Array): void;
  /** Exactly `count` bytes. */
  take(count: number): Promise<Buffer>;
  /** The bytes before the first `marker`, which is consumed. More than `maxBytes` are a `protocol_error`. */
  until(marker: string, maxBytes: number): Promise<Buffer>;
  /** Everything until the other side ends. More than `maxBytes` are a `bad_answer`. */
  rest(maxBytes: number): Promise<Buffer>;
  /** Speaks TLS from here on, with a verified certificate for `host` (a name or an address). */
  secure(host: string, context: SecureContext): Promise<void>;
  /** Times in ms since the start: connected, and first byte since the last `write`. */
  times(): { connectMs: number; firstByteMs: number; totalMs: number };
  /** True when its time is over at `now`, on the monotonic clock. */
  isLate(now: number): boolean;
  /** Ends it from outside: whoever waits gets this fault. */
  abort(code: FaultCode): void;
  /** Releases the sockets. Must be called at the end, whatever happened. */
  close(): void;
}

/** Takes over the socket; nothing that the other side sends can throw outside the returned methods. */
export function openConnection(options: ConnectionOptions): Connection {
  const { socket, connectTimeoutMs, timeoutMs, monotonic } = options;
  const startedAt = monotonic();
  let current: Socket = socket;
  let buffer: Buffer = NOTHING;
  let phase: 'connecting' | 'plain' | 'securing' | 'secure' | 'closed' = 'connecting';
  let ended = false;
  let fault: CheckFault | undefined;
  let waiting: { resolve: () => void; reject: (fault: CheckFault) => void } | undefined;
  let connectedAt = startedAt;
  let firstByteAt: number | undefined;
  let deadline = startedAt + Math.min(connectTimeoutMs, timeoutMs);

  function notify(): void {
    const waiter = waiting;
    waiting = undefined;
    if (fault === undefined) waiter?.resolve();
    else waiter?.reject(fault);
  }

  function fail(code: FaultCode, message: string): void {
    fault ??= new CheckFault(code, message);
    notify();
  }

  function failOnError(error: Error): void {
    if (phase === 'connecting') fail(connectFault(error), error.message);
    else fail(phase === 'securing' ? 'tls_error' : 'protocol_error', error.message);
  }

  function listen(to: Socket): void {
    to.on('error', failOnError);
    to.on('close', onEnd);
    to.on('end', onEnd);
    to.on('data', onData);
  }

  function onData(chunk: Buffer): void {
    firstByteAt ??= monotonic();
    buffer = buffer.length === 0 ? chunk : Buffer.concat([buffer, chunk]);
    notify();
  }

  function onEnd(): void {
    ended = true;
    notify();
  }

  /** Resolves at the next event. */
  function wait(): Promise<void> {
    if (fault === undefined && ended) fault = new CheckFault(endCode(), 'ended too early');
    if (fault !== undefined) return Promise.reject(fault);
    return new Promise((resolve, reject) => {
      waiting = { resolve, reject };
    });
  }

  function endCode(): FaultCode {
    if (phase === 'connecting') return 'unreachable';
    return phase === 'securing' ? 'tls_error' : 'protocol_error';
  }

  function consume(count: number): Buffer {
    const all = buffer;
    buffer = count === all.length ? NOTHING : all.subarray(count);
    return count === all.length ? all : all.subarray(0, count);
  }

  listen(socket);
  socket.once('connect', () => {
    if (phase !== 'connecting') return;
    phase = 'plain';
    connectedAt = monotonic();
    deadline = startedAt + timeoutMs;
    notify();
  });

  return {
    async open() {
      while (phase === 'connecting') await wait();
    },
    write(data) {
      firstByteAt = undefined;
      current.write(data);
    },
    async take(count) {
      while (buffer.length < count) await wait();
      return consume(count);
    },
    async until(marker, maxBytes) {
      for (;;) {
        const at = buffer.indexOf(marker);
        if (at > maxBytes || (at < 0 && buffer.length > maxBytes)) {
          throw new CheckFault('protocol_error', 'too many header bytes');
        }
        if (at >= 0) return consume(at + marker.length).subarray(0, at);
        await wait();
      }
    },
    async rest(maxBytes) {
      while (buffer.length <= maxBytes) {
        if (ended && fault === undefined) return consume(buffer.length);
        await wait();
      }
      throw new CheckFault('bad_answer', 'too long an answer');
    },
    async secure(host, context) {
      // Nobody may speak before our half of the handshake.
      if (buffer.length > 0) throw new CheckFault('protocol_error', 'unexpected bytes before TLS');
      phase = 'securing';
      // From here on the TLS socket tells what comes and when it ends.
      socket.off('data', onData);
      socket.off('end', onEnd);
      socket.off('close', onEnd);
      current = connectTls({
        socket,
        secureContext: context,
        rejectUnauthorized: true,
        ALPNProtocols: ['http/1.1'],
        ...(isLiteral(host) ? { host } : { host, servername: host }),
      });
      current.once('secureConnect', () => {
        if (phase === 'securing') phase = 'secure';
        notify();
      });
      listen(current);
      while (phase === 'securing') await wait();
    },
    times() {
      const totalMs = tenths(monotonic() - startedAt);
      const firstByteMs = firstByteAt === undefined ? totalMs : tenths(firstByteAt - startedAt);
      return { connectMs: tenths(connectedAt - startedAt), firstByteMs, totalMs };
    },
    isLate: (now) => now >= deadline,
    abort(code) {
      fail(code, 'ended from outside');
    },
    close() {
      phase = 'closed';
      current.destroy();
      if (current !== socket) socket.destroy();
    },
  };
}

function isLiteral(host: string): boolean {
  return host.includes(':') || /^[\d.]+$/.test(host);
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}
