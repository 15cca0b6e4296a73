import type { Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { CheckFault, connectFault, type FaultCode } from './fault.ts';
import { Inbox, type Reader } from './inbox.ts';

export interface ConnectionOptions {
  /** A socket that has begun to connect. */
  socket: Socket;
  /** Time until the TCP connection is established. */
  connectTimeoutMs: number;
  /** From the start until everything is done. */
  timeoutMs: number;
  /** A clock in ms that never goes back. */
  monotonic: () => number;
  /** Ends the connection from outside. */
  signal?: AbortSignal | undefined;
  /** Closes the connection and calls `tell`, soon. */
  finish: (connection: Connection, tell: () => void) => void;
}

/** We say something and read what the other side answers. */
export interface Spoken<T> {
  say: string | Uint8Array;
  hear: Reader<T>;
}

/** Both sides go over to TLS. */
export interface Secured {
  /** Name or address for which the other side needs a verified certificate. */
  secure: string;
  context: () => SecureContext;
}

/**
 * What is said over a connection, turn by turn; the last one returns the result. It is data and no async function, as a promise
 * or a generator for each turn would cost more than the turn.
 */
export type Conversation<T> = readonly [...(Spoken<unknown> | Secured)[], Spoken<T>];

/** A socket on which one conversation is held. */
export interface Connection {
  /**
   * Holds the conversation once the TCP connection is established, then closes the connection.
   * @throws {CheckFault} what a reader throws, or what befalls the connection.
   */
  hold<T>(conversation: Conversation<T>): Promise<T>;
  /** How many turns have begun. */
  readonly turnsBegun: number;
  /** Times in ms since the start: connected, first byte of the last turn, and last byte. */
  times(): { connectMs: number; firstByteMs: number; totalMs: number };
  /** True when its time is over at `now`, on the monotonic clock. */
  isLate(now: number): boolean;
  readonly isClosed: boolean;
  readonly signal: AbortSignal | undefined;
  /** Ends it from outside: the conversation rejects with this fault. */
  abort(code: FaultCode): void;
  /** Releases the sockets, once the conversation has ended. */
  close(): void;
}

/** Takes over the socket; nothing that the other side sends can throw outside the methods of the connection. */
export function openConnection(options: ConnectionOptions): Connection {
  return new SocketConnection(options);
}

/** A class, as thousands are made in a second: a closure for each method would cost as much as the conversation. */
class SocketConnection implements Connection {
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
  /** Takes no more notice of what comes over the socket and when it ends, only of its errors. */
  #ignore: (() => void) | undefined;
  #conversation: Conversation<unknown> | undefined;
  /** Reads the other side's part of the turn that has begun. */
  #hear: Reader<unknown> | undefined;
  #resolve: ((result: unknown) => void) | undefined;
  #reject: ((fault: unknown) => void) | undefined;
  #connectedAt: number;
  #firstByteAt: number | undefined;
  #lastByteAt: number;
  #deadline: number;

  constructor({ socket, connectTimeoutMs, timeoutMs, monotonic, signal, finish }: ConnectionOptions) {
    this.signal = signal;
    this.#socket = socket;
    this.#current = socket;
    this.#monotonic = monotonic;
    this.#finish = finish;
    this.#timeoutMs = timeoutMs;
    this.#startedAt = monotonic();
    this.#connectedAt = this.#startedAt;
    this.#lastByteAt = this.#startedAt;
    this.#deadline = this.#startedAt + Math.min(connectTimeoutMs, timeoutMs);
    this.#listen(socket);
    socket.on('connect', () => this.#connected());
  }

  hold<T>(conversation: Conversation<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#conversation = conversation;
      // The last turn returns this type.
      this.#resolve = resolve as (result: unknown) => void;
      this.#reject = reject;
      this.#goOn();
    });
  }

  times(): { connectMs: number; firstByteMs: number; totalMs: number } {
    const since = (at: number) => Math.round((at - this.#startedAt) * 10) / 10;
    return {
      connectMs: since(this.#connectedAt),
      firstByteMs: since(this.#firstByteAt ?? this.#lastByteAt),
      totalMs: since(this.#lastByteAt),
    };
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
    // A reset leaves no TIME_WAIT behind: at thousands of checks a second those would fill the system's table. But it waits
    // until there is a connection to reset.
    if (this.#socket.connecting) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
  }

  /** Holds as much of the conversation as can be held now. */
  #goOn(): void {
    if (this.#conversation === undefined) return;
    try {
      if (this.#fault) throw this.#fault;
      const result = this.#takeTurns(this.#conversation);
      if (result !== undefined) this.#end(() => this.#resolve?.(result));
      else if (this.#inbox.ended) throw new CheckFault(this.#endCode(), 'ended too early');
    } catch (error) {
      this.#end(() => this.#reject?.(error));
    }
  }

  #end(tell: () => void): void {
    this.#conversation = undefined;
    this.#finish(this, tell);
  }

  /** The result of the last turn; `undefined` while the other side has to continue. */
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
    // Nobody may speak before our half of the handshake.
    if (!this.#inbox.isEmpty) throw new CheckFault('protocol_error', 'unexpected bytes before TLS');
    this.#phase = 'securing';
    // From here on the TLS socket tells what comes and when it ends.
    this.#ignore?.();
    const secured = connectTls({
      socket: this.#socket,
      secureContext: context(),
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
      ...(isLiteral(host) ? { host } : { host, servername: host }),
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

function isLiteral(host: string): boolean {
  return host.includes(':') || /^[\d.]+$/.test(host);
}
