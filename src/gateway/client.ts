import { Inbox } from '../proxy/check/inbox.ts';
import type { LoginParts } from '../proxy/login.ts';
import { asBuffer, type TcpListener, type TcpSocket } from '../runtime/tcp.ts';
import type { Account } from './accounts.ts';
import type { Admission, Admit } from './admission.ts';
import { type Caller, HTTP_VOICE, SOCKS_VOICE, type Voice } from './caller.ts';
import type { Desk } from './desk.ts';
import { badRequest, GatewayFault } from './fault.ts';
import { headReader } from './http-message.ts';
import { readRequest } from './http-request.ts';
import { sendPlain } from './plain.ts';
import { socksReader } from './socks-ask.ts';
import type { Target } from './target.ts';
import { openTunnel } from './tunnel.ts';
import type { Kind } from './upstream.ts';

/** What a client may send ahead of the answer before it has to wait. */
const MOST_AHEAD_BYTES = 128 * 1024;
/** Time limit for a client's request. */
const ASKING_MS = 20_000;

const SOCKS5 = 5;
const CR = 13;
const BLANK_LINE = Buffer.from('\r\n');

/** The first byte of every HTTP method. */
function isCapital(byte: number): boolean {
  return byte >= 65 && byte <= 90;
}

/** Answers TLS and SOCKS4 at once with HTTP, so that their clients report a wrong protocol. */
function speakOtherwise(): never {
  throw badRequest(
    'This proxy speaks HTTP and SOCKS5, but not TLS: write http:// or socks5h:// before its address.',
  );
}

/** A request before its client is known. */
interface Work {
  login: LoginParts | null;
  voice: Voice;
  kind: Kind;
  target: Target;
}

interface ClientOptions {
  socket: TcpSocket;
  desk: Desk;
  admit: (login: LoginParts | null) => ReturnType<Admit>;
  /** Called once when its user is known. */
  onAdmitted: () => void;
  /** Called once when the connection is over. */
  onGone: () => void;
}

/** A client's connection until it is handed over. A class, because there is one for each connection. */
export class Client implements TcpListener, Caller {
  readonly socket: TcpSocket;
  readonly inbox = new Inbox();
  onBytes: (() => void) | null = null;
  onLeft: (() => void) | null = null;
  onDrained: (() => void) | null = null;
  onEnded: (() => void) | null = null;
  readonly startedAt: number;
  readonly #desk: Desk;
  readonly #admit: ClientOptions['admit'];
  readonly #onAdmitted: () => void;
  readonly #onGone: () => void;
  #read: () => void;
  #readHead = headReader();
  /**
   * When it is ended if it still waits for the client. A timer for each client would cost more than one check of all.
   */
  #deadline = Number.POSITIVE_INFINITY;
  #closing = false;
  #account: Account | null = null;
  /** Of the latest request. */
  #admission: Admission | null = null;
  #paused = false;
  #ended = false;
  #gone = false;

  constructor({ socket, desk, admit, onAdmitted, onGone }: ClientOptions) {
    this.socket = socket;
    this.#desk = desk;
    this.startedAt = desk.monotonic();
    this.#admit = admit;
    this.#onAdmitted = onAdmitted;
    this.#onGone = onGone;
    this.#read = () => this.#readFirst();
    this.#await();
  }

  opened(): void {}

  received(bytes: Uint8Array): void {
    this.inbox.add(asBuffer(bytes));
    this.#goOn();
    if (this.inbox.size > MOST_AHEAD_BYTES && !this.#paused) {
      this.#paused = true;
      this.socket.pause();
    }
  }

  drained(): void {
    this.onDrained?.();
  }

  ended(): void {
    this.#ended = true;
    // An incomplete request will never be completed.
    if (this.onLeft === null) this.socket.end();
    else this.onEnded?.();
  }

  closed(): void {
    this.onLeft?.();
    this.gone();
  }

  gone(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#account?.leave();
    this.#onGone();
  }

  get isAdmitted(): boolean {
    return this.#account !== null;
  }

  /** Ends the connection if the token of its user was revoked. `asked`: what is known, by account. */
  async dropIfRevoked(asked: Map<string, Promise<boolean>>): Promise<void> {
    if (this.#admission?.stands === undefined) return;
    const { id } = this.#admission.account;
    const stands = asked.get(id) ?? this.#admission.stands();
    asked.set(id, stands);
    if (!(await stands)) this.socket.destroy();
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  take(count: number): Buffer {
    const bytes = this.inbox.take(count) ?? Buffer.alloc(0);
    if (this.#paused && this.inbox.size <= MOST_AHEAD_BYTES) this.#resume();
    return bytes;
  }

  refuse(voice: Voice, fault: GatewayFault): void {
    if (this.#gone) return;
    this.socket.write(voice.no(fault));
    this.close();
  }

  /** Anything else that the client sends is discarded, but read: otherwise nobody would hear that it has left. */
  close(): void {
    this.#release();
    this.onBytes = () => this.inbox.remainder();
    this.onBytes();
    this.#resume();
    this.socket.end();
    this.#closing = true;
    this.#await();
  }

  /** Ends the connection if the client has not sent its request in time, or has not read the last answer. */
  look(now: number): void {
    if (now < this.#deadline) return;
    if (this.#closing) this.socket.destroy();
    else this.close();
  }

  again(): void {
    this.#release();
    this.#resume();
    this.#await();
    if (!this.inbox.isEmpty) this.#goOn();
    // Whole requests are still served, but one that has not begun by now never will.
    if (this.#ended && this.onLeft === null && !this.#closing) this.close();
  }

  #release(): void {
    this.onBytes = null;
    this.onLeft = null;
    this.onDrained = null;
    this.onEnded = null;
  }

  /** Reads on, even if something has paused it. */
  #resume(): void {
    this.#paused = false;
    this.socket.resume();
  }

  #await(): void {
    this.#deadline = this.#desk.monotonic() + ASKING_MS;
  }

  #goOn(): void {
    if (this.onBytes !== null) {
      this.onBytes();
      return;
    }
    this.#read();
  }

  #readFirst(): void {
    const [first = 0] = this.inbox.view();
    if (first === SOCKS5) this.#read = this.#socks();
    else if (isCapital(first) || first === CR) this.#read = () => this.#http();
    else this.#read = () => this.#answering(HTTP_VOICE, speakOtherwise);
    this.#read();
  }

  #socks(): () => void {
    const read = socksReader((bytes) => this.socket.write(bytes));
    return () => {
      this.#answering(SOCKS_VOICE, () => {
        const ask = read(this.inbox);
        // It was asked for a login before, and has none.
        if (ask) this.#tunnel(ask.target, ask.login ?? { user: '', password: '' }, SOCKS_VOICE);
      });
    };
  }

  #http(): void {
    this.#answering(HTTP_VOICE, () => {
      // Some clients end a body with one more line (RFC 9112, 2.2).
      while (this.inbox.peek(2)?.equals(BLANK_LINE)) this.take(2);
      const head = this.#readHead(this.inbox.view());
      if (head === undefined) return;
      this.#readHead = headReader();
      this.take(head.bytes);
      const ask = readRequest(head);
      if (ask.kind === 'tunnel') return this.#tunnel(ask.target, ask.login, HTTP_VOICE);
      const { request, login } = ask;
      this.#work({ login, voice: HTTP_VOICE, kind: 'plain', target: request.target }, (admission) => {
        sendPlain({ client: this, desk: this.#desk, request, admission });
      });
    });
  }

  #tunnel(target: Target, login: LoginParts | null, voice: Voice): void {
    this.#work({ login, voice, kind: 'tunnel', target }, (admission) => {
      openTunnel({ client: this, desk: this.#desk, target, voice, admission });
    });
  }

  /** Starts once the user is known; nothing is read before. */
  #work(asked: Work, begin: (admission: Admission) => void): void {
    const { login, voice } = asked;
    this.#deadline = Number.POSITIVE_INFINITY;
    this.onBytes = () => {};
    this.onLeft = () => {};
    const admitted = this.#admit(login);
    if (!(admitted instanceof Promise)) {
      this.#begin(admitted, asked, begin);
      return;
    }
    admitted.then(
      (admission) => this.#gone || this.#answering(voice, () => this.#begin(admission, asked, begin)),
      (error: unknown) =>
        this.#answering(voice, () => {
          throw error;
        }),
    );
  }

  #begin(admission: Admission, { voice, kind, target }: Work, begin: (admission: Admission) => void): void {
    this.#desk.check(target);
    // Later requests on the connection may have another login, but it remains one connection.
    if (this.#account === null) {
      admission.account.enter();
      this.#account = admission.account;
      this.#onAdmitted();
    }
    this.#admission = admission;
    const filled = this.#desk.filled(kind, admission);
    if (filled === null) begin(admission);
    else filled.then(() => this.#gone || this.#answering(voice, () => begin(admission)));
  }

  #answering(voice: Voice, run: () => void): void {
    try {
      run();
    } catch (error) {
      if (!(error instanceof GatewayFault)) throw error;
      this.#desk.meter.settled(voice === HTTP_VOICE ? 'plain' : 'tunnel', 'refused', 0);
      this.refuse(voice, error);
    }
  }
}
