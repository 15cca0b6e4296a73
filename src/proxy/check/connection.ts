import { isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { MessageFault } from '../../lib/http-message.ts';
import { CheckFault, connectFault, type FaultCode } from './fault.ts';
import { Inbox, type Reader } from './inbox.ts';

/** Share of the time limit for establishing the TCP connection. The rest takes several round trips. */
const CONNECT_SHARE = 0.6;

interface ConnectionOptions {
  socket: Socket;
  /** Time limit from the start to the end of the conversation. */
  timeoutMs: number;
  /** A monotonic clock in ms. */
  monotonic: () => number;
  signal?: AbortSignal | undefined;
  /** Closes the connection and soon calls `tell`. */
  finish: (connection: Connection, tell: () => void) => void;
}

/** A turn in which we send something and read the answer. */
export interface Spoken<T> {
  say: string | Uint8Array;
  hear: Reader<T>;
}

/** A turn in which both sides switch to TLS. */
export interface Secured {
  /** Name or address for which the other side needs a verified certificate. */
  secure: string;
  context: () => SecureContext;
}

/**
 * The turns of a conversation over a connection. The last turn returns the result. This is data rather than
 * an async function, because a promise or a generator for each turn would cost more than the turn itself.
 */
export type Conversation<T> = readonly [...(Spoken<unknown> | Secured)[], Spoken<T>];

/**
 * A socket that carries one conversation. Nothing that the other side sends can throw outside its methods. It is a
 * class, because thousands are created a second: a closure for each method would cost as much as the conversation.
 */
export class Connection {
  turnsBegun = 0;
  readonly signal: AbortSignal | undefined;
  readonly #socket: Socket;
  readonly #monotonic: () => number;
  readonly #finish: ConnectionOptions['finish'];
  readonly #timeoutMs: number;
  readonly #startedAt: number;
  readonly #inbox = new Inbox();
  /** The socket, or TLS over it. */
  #current: Socket;
  #phase: 'connecting' | 'plain' | 'securing' | 'secure' | 'closed' = 'connecting';
  #fault: CheckFault | undefined;
  /** Stops listening to data and ends of the socket, but not to its errors. */
  #ignore: (() => void) | undefined;
  #conversation: Conversation<unknown> | undefined;
  /** Reads the other side's answer in the current turn. */
  #hear: Reader<unknown> | undefined;
  #resolve: ((result: unknown) => void) | undefined;
  #reject: ((fault: unknown) => void) | undefined;
  #connectedAt: number;
  #firstByteAt: number | undefined;
  #lastByteAt: number;
  #deadline: number;

  /** Takes over the socket. */
  constructor({ socket, timeoutMs, monotonic, signal, finish }: ConnectionOptions) {
    this.signal = signal;
    this.#socket = socket;
    this.#current = socket;
    this.#monotonic = monotonic;
    this.#finish = finish;
    this.#timeoutMs = timeoutMs;
    this.#startedAt = monotonic();
    this.#connectedAt = this.#startedAt;
    this.#lastByteAt = this.#startedAt;
    this.#deadline = this.#startedAt + Math.ceil(timeoutMs * CONNECT_SHARE);
    this.#listen(socket);
    socket.on('connect', () => this.#connected());
  }

  /**
   * Holds the conversation once the TCP connection is established, then closes the connection.
   * @throws {CheckFault} what a reader throws, or the fault of the connection.
   */
  hold<T>(conversation: Conversation<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#conversation = conversation;
      // The last turn returns this type.
      this.#resolve = resolve as (result: unknown) => void;
      this.#reject = reject;
      this.#goOn();
    });
  }

  /** Times in ms since the start: connected, first byte of the last turn, and last byte. */
  times(): { connectMs: number; firstByteMs: number; totalMs: number } {
    const since = (at: number) => Math.round((at - this.#startedAt) * 10) / 10;
    return {
      connectMs: since(this.#connectedAt),
      firstByteMs: since(this.#firstByteAt ?? this.#lastByteAt),
      totalMs: since(this.#lastByteAt),
    };
  }

  /** Reports whether its time limit has passed at `now`, on the monotonic clock. */
  isLate(now: number): boolean {
    return now >= this.#deadline;
  }

  get isClosed(): boolean {
    return this.#phase === 'closed';
  }

  /** Aborts the connection: the conversation rejects with this fault. */
  abort(code: FaultCode): void {
    this.#fail(code, code === 'timeout' ? 'timed out' : 'ended from outside');
  }

  /** Releases the sockets after the conversation. */
  close(): void {
    this.#phase = 'closed';
    if (this.#current !== this.#socket) this.#current.destroy();
    // A reset leaves no TIME_WAIT behind. At thousands of checks a second, those would fill the system's
    // table. It needs an established connection.
    if (this.#socket.connecting) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
  }

  /** Continues the conversation with the data that is there. */
  #goOn(): void {
    if (this.#conversation === undefined) return;
    try {
      if (this.#fault) throw this.#fault;
      const result = this.#takeTurns(this.#conversation);
      if (result !== undefined) this.#end(() => this.#resolve?.(result));
      else if (this.#inbox.ended) throw new CheckFault(this.#endCode(), 'ended too early');
    } catch (error) {
      const isMalformed = error instanceof MessageFault;
      const fault = isMalformed ? new CheckFault('protocol_error', error.message) : error;
      this.#end(() => this.#reject?.(fault));
    }
  }

  #end(tell: () => void): void {
    this.#conversation = undefined;
    this.#finish(this, tell);
  }

  /** Returns the result of the last turn, or `undefined` while more data is needed. */
  #takeTurns(turns: Conversation<unknown>): unknown {
    let heard: unknown;
    while (this.#phase === 'plain' || this.#phase === 'secure') {
      if (this.#hear !== undefined) {
        heard = this.#hear(this.#inbox);
        if (heard === undefined) return undefined;
        this.#hear = undefined;
      }
      const turn = turns[this.turnsBegun];
      if (turn === undefined) return heard;
      this.turnsBegun++;
      if ('say' in turn) this.#say(turn);
      else this.#secure(turn);
    }
    return undefined;
  }

  #say({ say, hear }: Spoken<unknown>): void {
    this.#firstByteAt = undefined;
    this.#hear = hear;
    this.#current.write(say);
  }

  #secure({ secure: host, context }: Secured): void {
    // No data is allowed before our half of the handshake.
    if (!this.#inbox.isEmpty) throw new CheckFault('protocol_error', 'unexpected bytes before TLS');
    this.#phase = 'securing';
    // From here on, the TLS socket reports data and ends.
    this.#ignore?.();
    const secured = connectTls({
      // TLS to a target runs inside TLS to the proxy.
      socket: this.#current,
      secureContext: context(),
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
      ...(isIP(host) > 0 ? { host } : { host, servername: host }),
    });
    secured.once('secureConnect', () => {
      if (this.#phase === 'securing') this.#phase = 'secure';
      this.#goOn();
    });
    this.#current = secured;
    this.#listen(secured);
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
    this.#goOn();
  }

  #received(chunk: Buffer): void {
    if (this.#conversation === undefined) return;
    this.#lastByteAt = this.#monotonic();
    this.#firstByteAt ??= this.#lastByteAt;
    this.#inbox.add(chunk);
    this.#goOn();
  }

  #ended(): void {
    this.#inbox.ended = true;
    this.#goOn();
  }

  #failed(error: Error): void {
    if (this.#phase === 'connecting') this.#fail(connectFault(error), error.message);
    else this.#fail(this.#phase === 'securing' ? 'tls_error' : 'protocol_error', error.message);
  }

  #fail(code: FaultCode, message: string): void {
    this.#fault ??= new CheckFault(code, message);
    this.#goOn();
  }

  #endCode(): FaultCode {
    if (this.#phase === 'connecting') return 'unreachable';
    return this.#phase === 'securing' ? 'tls_error' : 'protocol_error';
  }
}
