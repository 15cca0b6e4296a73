import type { Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { CheckFault, connectFault, type FaultCode } from './fault.ts';
import { Inbox } from './inbox.ts';

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
 * What is said over a connection, step by step. It yields where it waits for the other side, and goes on at the next event: a
 * promise for each step would cost more than the step. It ends with a result or throws a `CheckFault`.
 */
export type Conversation<T> = Generator<void, T, void>;

/** A socket on which one conversation is held. Its generators are steps of that. */
export interface Connection {
  /** Holds the conversation: resolves with its result, rejects with what it throws or what befalls the connection. */
  hold<T>(conversation: Conversation<T>): Promise<T>;
  /** Waits until the TCP connection stands. */
  open(): Conversation<void>;
  write(data: string | Uint8Array): void;
  /** Exactly `count` bytes. */
  take(count: number): Conversation<Buffer>;
  /** The text before the first `marker`, which is taken, too. More than `maxBytes` are a `protocol_error`. */
  until(marker: Buffer, maxBytes: number): Conversation<string>;
  /** Everything until the other side ends. More than `maxBytes` are a `bad_answer`. */
  rest(maxBytes: number): Conversation<Buffer>;
  /** Speaks TLS from here on, with a verified certificate for `host` (a name or an address). */
  secure(host: string, context: SecureContext): Conversation<void>;
  /** Times in ms since the start: connected, and first byte since the last `write`. */
  times(): { connectMs: number; firstByteMs: number; totalMs: number };
  /** True when its time is over at `now`, on the monotonic clock. */
  isLate(now: number): boolean;
  readonly isClosed: boolean;
  /** Ends it from outside: the conversation rejects with this fault. */
  abort(code: FaultCode): void;
  /** Releases the sockets. Must be called at the end, whatever happened. */
  close(): void;
}

/** Takes over the socket; nothing that the other side sends can throw outside the methods of the connection. */
export function openConnection(options: ConnectionOptions): Connection {
  return new SocketConnection(options);
}

/** A class, as thousands are made in a second: a closure for each method would cost as much as the conversation. */
class SocketConnection implements Connection {
  readonly #socket: Socket;
  readonly #monotonic: () => number;
  readonly #timeoutMs: number;
  readonly #startedAt: number;
  readonly #inbox = new Inbox();
  /** The socket, or TLS over it. */
  #current: Socket;
  #phase: 'connecting' | 'plain' | 'securing' | 'secure' | 'closed' = 'connecting';
  #fault: CheckFault | undefined;
  /** Takes no more notice of what comes over the socket and when it ends, only of its errors. */
  #ignore: (() => void) | undefined;
  /** Lets the conversation go on, if it can. */
  #goOn: (() => void) | undefined;
  #connectedAt: number;
  #firstByteAt: number | undefined;
  #deadline: number;

  constructor({ socket, connectTimeoutMs, timeoutMs, monotonic }: ConnectionOptions) {
    this.#socket = socket;
    this.#current = socket;
    this.#monotonic = monotonic;
    this.#timeoutMs = timeoutMs;
    this.#startedAt = monotonic();
    this.#connectedAt = this.#startedAt;
    this.#deadline = this.#startedAt + Math.min(connectTimeoutMs, timeoutMs);
    this.#listen(socket);
    socket.on('connect', () => this.#connected());
  }

  hold<T>(conversation: Conversation<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#goOn = () => {
        try {
          if (this.#fault) throw this.#fault;
          const { done, value } = conversation.next();
          if (done) resolve(value);
          else if (this.#inbox.ended) throw new CheckFault(this.#endCode(), 'ended too early');
          else return;
        } catch (error) {
          reject(error);
        }
        this.#goOn = undefined;
      };
      this.#goOn();
    });
  }

  *open(): Conversation<void> {
    while (this.#phase === 'connecting') yield;
  }

  write(data: string | Uint8Array): void {
    this.#firstByteAt = undefined;
    this.#current.write(data);
  }

  take(count: number): Conversation<Buffer> {
    return arrival(() => this.#inbox.take(count));
  }

  until(marker: Buffer, maxBytes: number): Conversation<string> {
    return arrival(() => this.#inbox.until(marker, maxBytes));
  }

  rest(maxBytes: number): Conversation<Buffer> {
    return arrival(() => this.#inbox.rest(maxBytes));
  }

  *secure(host: string, context: SecureContext): Conversation<void> {
    // Nobody may speak before our half of the handshake.
    if (!this.#inbox.isEmpty) throw new CheckFault('protocol_error', 'unexpected bytes before TLS');
    this.#phase = 'securing';
    // From here on the TLS socket tells what comes and when it ends.
    this.#ignore?.();
    const secured = connectTls({
      socket: this.#socket,
      secureContext: context,
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
      ...(isLiteral(host) ? { host } : { host, servername: host }),
    });
    secured.once('secureConnect', () => {
      if (this.#phase === 'securing') this.#phase = 'secure';
      this.#goOn?.();
    });
    this.#current = secured;
    this.#listen(secured);
    while (this.#phase === 'securing') yield;
  }

  times(): { connectMs: number; firstByteMs: number; totalMs: number } {
    const totalMs = tenths(this.#monotonic() - this.#startedAt);
    const firstByteMs =
      this.#firstByteAt === undefined ? totalMs : tenths(this.#firstByteAt - this.#startedAt);
    return { connectMs: tenths(this.#connectedAt - this.#startedAt), firstByteMs, totalMs };
  }

  isLate(now: number): boolean {
    return now >= this.#deadline;
  }

  get isClosed(): boolean {
    return this.#phase === 'closed';
  }

  abort(code: FaultCode): void {
    this.#fail(code, 'ended from outside');
  }

  close(): void {
    this.#phase = 'closed';
    if (this.#current !== this.#socket) this.#current.destroy();
    // A reset leaves no TIME_WAIT behind: at thousands of checks a second those would fill the system's table.
    this.#socket.resetAndDestroy();
  }

  #listen(to: Socket): void {
    to.on('error', (error) => this.#failed(error));
    const onEnd = () => this.#ended();
    const onData = (chunk: Buffer) => this.#received(chunk);
    to.on('close', onEnd);
    to.on('end', onEnd);
    to.on('data', onData);
    this.#ignore = () => {
      to.off('close', onEnd);
      to.off('end', onEnd);
      to.off('data', onData);
    };
  }

  #connected(): void {
    if (this.#phase !== 'connecting') return;
    this.#phase = 'plain';
    this.#connectedAt = this.#monotonic();
    this.#deadline = this.#startedAt + this.#timeoutMs;
    this.#goOn?.();
  }

  #received(chunk: Buffer): void {
    this.#firstByteAt ??= this.#monotonic();
    this.#inbox.add(chunk);
    this.#goOn?.();
  }

  #ended(): void {
    this.#inbox.ended = true;
    this.#goOn?.();
  }

  #failed(error: Error): void {
    if (this.#phase === 'connecting') this.#fail(connectFault(error), error.message);
    else this.#fail(this.#phase === 'securing' ? 'tls_error' : 'protocol_error', error.message);
  }

  #fail(code: FaultCode, message: string): void {
    this.#fault ??= new CheckFault(code, message);
    this.#goOn?.();
  }

  #endCode(): FaultCode {
    if (this.#phase === 'connecting') return 'unreachable';
    return this.#phase === 'securing' ? 'tls_error' : 'protocol_error';
  }
}

/** Waits until there is something to get. */
function* arrival<T>(get: () => T | undefined): Conversation<T> {
  for (;;) {
    const value = get();
    if (value !== undefined) return value;
    yield;
  }
}

function isLiteral(host: string): boolean {
  return host.includes(':') || /^[\d.]+$/.test(host);
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}
