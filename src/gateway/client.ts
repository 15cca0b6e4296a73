import { headReader, MessageFault } from '../lib/http-message.ts';
import { Inbox } from '../proxy/check/inbox.ts';
import type { LoginParts } from '../proxy/login.ts';
import { asBuffer, type TcpListener, type TcpSocket } from '../runtime/tcp.ts';
import type { Account } from './account.ts';
import type { Admission } from './admission.ts';
import type { Desk } from './desk.ts';
import {
  badRequest,
  GatewayFault,
  HTTP_VOICE,
  hungUp,
  SOCKS_VOICE,
  SOCKS4_VOICE,
  type Voice,
  voiceFor,
} from './fault.ts';
import { type PlainRequest, readRequest } from './http-request.ts';
import type { Asked } from './journal.ts';
import { socksReader } from './socks-ask.ts';
import { refusedTarget } from './target.ts';

/** What a client may send ahead of the answer before it has to wait. */
const MOST_AHEAD_BYTES = 128 * 1024;
/** Time limit for a client's request, and for reading a refusal. */
const ASKING_MS = 20_000;

const SOCKS4 = 4;
const SOCKS5 = 5;
const CR = 13;
const BLANK_LINE = Buffer.from('\r\n');
const MOST_BLANK = 4;

/** Refuses TLS at once in HTTP, so that its clients report a wrong protocol, and SOCKS4 in its own. */
function speakOtherwise(): never {
  throw badRequest(
    'This proxy speaks HTTP and SOCKS5, but not TLS: write http:// or socks5h:// before its address.',
  );
}

/** A request of an admitted client, and what it takes to serve it. */
export interface Job extends Asked {
  client: Client;
  desk: Desk;
  voice: Voice;
  /** `null`: a tunnel. */
  request: PlainRequest | null;
}

/** What a client asks for, and how it is answered. */
type Work = Pick<Job, 'target' | 'request' | 'voice'>;

/** Hears of a client while its request is being served. */
export interface Served {
  /** More has arrived. */
  received?(): void;
  drained?(): void;
  /** The client has ended its half, after all that it has sent. */
  ended?(): void;
  /** The client has disconnected. */
  left?(): void;
  /** Ends both connections, which nobody is to blame for. Default: the client has left. */
  cut?(): void;
}

/** Where clients connect. */
export interface Host extends Desk {
  serve(job: Job): void;
  /** Forgets a client whose connection is over. */
  gone(client: Client): void;
}

interface ClientOptions {
  socket: TcpSocket;
  host: Host;
  /** Its address. */
  peer: string;
  /** Called once its user has logged in, or it is over. */
  onKnown: () => void;
  /** Options of the port, which take precedence. */
  fixed: string | undefined;
}

/** A client's connection, for all of its requests. A class, because there is one for each connection. */
export class Client implements TcpListener {
  readonly socket: TcpSocket;
  /** Data that has arrived and was not taken yet. */
  readonly inbox = new Inbox();
  /** What serves the current request; `null` while the next one is awaited. */
  serving: Served | null = null;
  /** True once it sends no more. */
  hasEnded = false;
  /** True once nothing more is sent than what has been. */
  isClosing = false;
  readonly startedAt: number;
  readonly #options: ClientOptions;
  #read: () => void;
  #readHead = headReader();
  /**
   * When it is ended if it still waits for the client. A timer for each client would cost more than one check of all.
   */
  #deadline = Number.POSITIVE_INFINITY;
  #account: Account | null = null;
  /** Of the latest request, or of the login over SOCKS before it. */
  #admission: Admission | null = null;
  #paused = false;
  #gone = false;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.socket = options.socket;
    this.startedAt = options.host.options.monotonic();
    this.#read = () => this.#readFirst();
    this.#await();
  }

  opened(): void {}

  received(bytes: Uint8Array): void {
    this.inbox.add(asBuffer(bytes));
    this.#goOn();
    // Also if it was paused before: what serves it may have resumed it meanwhile.
    if (this.inbox.size > MOST_AHEAD_BYTES) {
      this.#paused = true;
      this.socket.pause();
    }
  }

  drained(): void {
    this.serving?.drained?.();
  }

  ended(): void {
    this.hasEnded = true;
    // An incomplete request will never be completed.
    if (this.serving === null) this.socket.end();
    else this.serving.ended?.();
  }

  closed(): void {
    this.serving?.left?.();
    this.gone();
  }

  /** Called when the connection is over; its current owner reports that. */
  gone(): void {
    if (this.#gone) return;
    this.#gone = true;
    if (this.#account === null) this.#options.onKnown();
    else this.#account.leave();
    this.#options.host.gone(this);
  }

  /** Ends the connection if the token of its user was revoked. `asked`: what is known, by account. */
  async dropIfRevoked(asked: Map<string, Promise<boolean>>): Promise<void> {
    if (this.#admission?.stands === undefined) return;
    const { id } = this.#admission.account;
    const stands = asked.get(id) ?? this.#admission.stands();
    asked.set(id, stands);
    if (!(await stands)) this.drop();
  }

  /** Ends the connection, whatever it does. */
  drop(): void {
    if (this.serving?.cut) this.serving.cut();
    else this.socket.destroy();
  }

  /** Takes this many of the received bytes. */
  take(count: number): Buffer {
    const bytes = this.inbox.take(count) ?? Buffer.alloc(0);
    if (this.#paused && this.inbox.size <= MOST_AHEAD_BYTES) this.#resume();
    return bytes;
  }

  /** Answers with an error, and ends the connection. */
  refuse(voice: Voice, fault: GatewayFault): void {
    if (this.#gone) return;
    this.socket.write(voice.no(fault));
    this.close();
  }

  /**
   * Ends the connection once everything is sent. Anything else that the client sends is discarded, but read: otherwise
   * nobody would hear that it has left.
   */
  close(): void {
    this.serving = { received: () => void this.inbox.remainder() };
    this.#goOn();
    this.#resume();
    this.socket.end();
    this.isClosing = true;
    this.#await();
  }

  /** Ends the connection if the client has not sent its request in time, or has not read the last answer. */
  look(now: number): void {
    // A browser that asks over one connection for long must get no other exit for the next.
    if (this.#admission?.session) this.#admission.session.usedAt = now;
    if (now < this.#deadline) return;
    if (this.isClosing) this.socket.destroy();
    else this.close();
  }

  /** Makes the connection ready for another request, once the client has taken the last answer: those could pile up. */
  again(isTaken = true): void {
    if (!isTaken) {
      this.serving = { drained: () => this.again() };
      this.#await();
      return;
    }
    this.serving = null;
    this.#resume();
    this.#await();
    if (!this.inbox.isEmpty) this.#goOn();
    // Whole requests are still served, but one that has not begun by now never will.
    if (this.hasEnded && this.serving === null) this.close();
  }

  /** Reads on, even if something has paused it. */
  #resume(): void {
    this.#paused = false;
    this.socket.resume();
  }

  #await(): void {
    const { monotonic, idleMs } = this.#options.host.options;
    // An admitted client may still be reading an answer: how much of that the system holds is not known.
    const mayRead = this.serving !== null && this.#account !== null;
    this.#deadline = monotonic() + (mayRead ? Math.max(ASKING_MS, idleMs) : ASKING_MS);
  }

  #goOn(): void {
    if (this.serving === null) this.#read();
    else this.serving.received?.();
  }

  #readFirst(): void {
    const [first = 0] = this.inbox.view();
    const isMethod = /[A-Z]/.test(String.fromCharCode(first));
    if (first === SOCKS5) this.#read = this.#socks();
    else if (isMethod || first === CR) this.#read = () => this.#http();
    else this.#read = () => this.#answering(first === SOCKS4 ? SOCKS4_VOICE : HTTP_VOICE, speakOtherwise);
    this.#read();
  }

  #socks(): () => void {
    const read = socksReader((bytes) => this.socket.write(bytes));
    let admitted: Promise<Admission>;
    return () =>
      this.#answering(SOCKS_VOICE, () => {
        const step = read(this.inbox);
        if (step === undefined) return;
        if ('target' in step)
          return this.#work(admitted, { voice: SOCKS_VOICE, target: step.target, request: null });
        const { login, yes, no } = step;
        admitted = (async () => this.#admit(login))();
        // Any other reason answers the request, because clients take each that comes here for a wrong password.
        const known = admitted.catch((fault: unknown) => {
          if (fault instanceof GatewayFault && fault.refusal === 'login_required') throw fault;
          return null;
        });
        const refusal = (fault: GatewayFault) => Buffer.from(fault.refusal === 'login_required' ? no : []);
        this.#later(known, { ...SOCKS_VOICE, no: refusal }, (admission) => {
          this.#admission = admission;
          this.socket.write(Buffer.from(yes));
          this.again();
        });
      });
  }

  #http(): void {
    // Some clients end a body with one more line (RFC 9112, 2.2). A flood of them would cost more than it takes to send.
    for (let left = MOST_BLANK; left > 0 && this.inbox.peek(2)?.equals(BLANK_LINE); left--) this.take(2);
    const method = this.inbox.peek(5)?.toString('latin1').trimEnd() ?? '';
    this.#answering(voiceFor(method), () => {
      if (this.inbox.peek(2)?.equals(BLANK_LINE)) throw badRequest('Too many blank lines come first.');
      const head = this.#readHead(this.inbox.view());
      if (head === undefined) return;
      this.#readHead = headReader();
      this.take(head.bytes);
      const { login, ...ask } = readRequest(head);
      this.#work(this.#admit(login), { ...ask, voice: voiceFor(method) });
    });
  }

  /** Starts once the user is known; nothing is read before. */
  #work(admitted: Admission | Promise<Admission>, work: Work): void {
    this.#deadline = Number.POSITIVE_INFINITY;
    if (admitted instanceof Promise)
      this.#later(admitted, work.voice, (admission) => this.#begin(admission, work));
    else this.#begin(admitted, work);
  }

  #admit(login: LoginParts | null): Admission | Promise<Admission> {
    return this.#options.host.options.admit(login, this.#options.peer, this.#options.fixed);
  }

  #begin(admission: Admission, { target, request, voice }: Work): void {
    const { host, onKnown } = this.#options;
    const kind = request ? 'plain' : 'tunnel';
    const refusal = refusedTarget(target, host.options.rules);
    if (refusal !== null) throw new GatewayFault('target_refused', refusal);
    // Later requests on the connection may have another login, but it remains one connection.
    if (this.#account === null) {
      admission.account.enter();
      this.#account = admission.account;
      onKnown();
    }
    this.#admission = admission;
    const serve = () => {
      const startedAt = host.options.monotonic();
      host.serve({ kind, client: this, desk: host, voice, request, target, admission, startedAt });
      if (this.hasEnded) this.serving?.ended?.();
    };
    // One that sends no more has usually left. If not, it is told that the pool is being filled.
    const filled = host.filled(kind, admission, () => this.#gone || this.hasEnded);
    if (filled === null) serve();
    else this.#later(filled, voice, serve);
  }

  /** Goes on when something is known, however late, if the client is still there. */
  async #later<T>(known: Promise<T>, voice: Voice, run: (value: T) => void): Promise<void> {
    this.serving = { cut: () => this.refuse(voice, hungUp()) };
    this.#deadline = Number.POSITIVE_INFINITY;
    const [result] = await Promise.allSettled([known]);
    if (this.#gone || this.isClosing) return;
    this.#answering(voice, () => {
      if (result.status === 'rejected') throw result.reason;
      run(result.value);
    });
  }

  #answering(voice: Voice, run: () => void): void {
    try {
      run();
    } catch (error) {
      let fault = error;
      if (error instanceof MessageFault)
        fault = new GatewayFault(error.isTooLarge ? 'head_too_large' : 'bad_request', error.message);
      if (!(fault instanceof GatewayFault)) throw error;
      this.#options.host.meter.settled(voice.kind, 'refused', 0);
      this.refuse(voice, fault);
    }
  }
}
