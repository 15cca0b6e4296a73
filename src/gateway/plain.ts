import { bodyEnd, MessageFault, type Relay, relay } from '../lib/http-message.ts';
import { Inbox } from '../proxy/check/inbox.ts';
import { siteOf } from '../proxy/targets/site.ts';
import { asBuffer, type TcpSocket } from '../runtime/tcp.ts';
import type { Plan } from './attempt.ts';
import type { Client, Job, Served } from './client.ts';
import type { Carrier } from './desk.ts';
import { badRequest, type GatewayFault, hungUp, maybeSent } from './fault.ts';
import {
  type Answer,
  type AnswerReader,
  answerHead,
  answerJudge,
  answerReader,
  NEVER_A_TARGETS,
  PROXY_TROUBLE,
  REFUSALS,
} from './http-answer.ts';
import type { PlainRequest } from './http-request.ts';
import type { Lane } from './lane.ts';
import type { Outcome } from './meter.ts';
import { isFound, watchForPortal } from './portal.ts';
import type { Race, RaceResult } from './race.ts';
import { formatTarget } from './target.ts';
import { CUT_MS, exitHeaders, type Failure, GIVEN_UP_MS, STALLED_MS, type Upstream } from './upstream.ts';

type PlainJob = Job & { request: PlainRequest };

/** A client that sends no more has usually left, but may still read. */
const ENDED_MS = 10_000;
const CONTINUE = Buffer.from('HTTP/1.1 100 Continue\r\n\r\n');
/** A request that is sent once must not be lost to a proxy that answers everything itself. */
const UNKNOWN = { look: '', mayBeOwn: true, refusal: false } as const;

/**
 * Sends one request and returns the answer. GET and HEAD are sent to further upstreams if one fails, until the first
 * byte of a good answer. Everything else is sent once, to the first upstream that connects.
 */
export function sendPlain(job: PlainJob): void {
  const { client, desk, request, admission, target, voice } = job;
  const { method, framing } = request;
  const lane = desk.engine.laneOf('plain', admission.account);
  const repeatable = framing === 'none' && (method === 'GET' || method === 'HEAD');
  let running: Race | null = null;
  client.serving = {
    left() {
      running?.cancel();
      desk.settled(job, 'client_left');
    },
    cut() {
      running?.cancel();
      desk.settled(job, 'no_answer');
      client.refuse(voice, hungUp());
    },
    // A client may end its half after a whole request; a request without its end never gets one.
    ended() {
      if (!isWhole(request, client)) client.socket.destroy();
    },
  };
  const planFor = (upstream: Upstream): Plan => {
    const certain = lane.knows(upstream);
    return {
      tunnel: isTunnelled(upstream),
      payload: repeatable ? headFor(request, upstream) : null,
      doubt: certain ? undefined : UNKNOWN,
      judge: answerJudge(method, certain, desk.options.retry),
      idle: repeatable ? desk.idle.take(upstream, target) : undefined,
    };
  };
  running = desk.engine.find({ ...job, planFor, wide: repeatable }, (result, tries, lost) => {
    if (result === null) {
      client.refuse(voice, desk.unanswered(job, tries, lost));
      return;
    }
    const settle = (outcome: Outcome) => desk.settled(job, outcome, { tries, member: result.attempt.member });
    new Exchange(job, lane, result, settle).begin(repeatable);
  });
}

/** Reports whether the body has arrived, of which nothing was taken yet. */
function isWhole({ framing }: PlainRequest, { inbox }: Client): boolean {
  const end = bodyEnd(framing);
  try {
    end.take(inbox.view());
    return end.done;
  } catch {
    return false;
  }
}

function headFor(request: PlainRequest, upstream: Upstream): Buffer {
  return isTunnelled(upstream) ? request.forServer : request.forProxy(upstream.login);
}

/** An HTTP proxy that does not forward requests may still open a tunnel to port 80. */
function isTunnelled({ protocol, carries }: Upstream): boolean {
  return protocol !== 'http' || !carries.plain;
}

/** Sends the rest of a request to the upstream that was found, and the answer back. */
class Exchange implements Carrier, Served {
  movedAt: number;
  readonly #job: PlainJob;
  readonly #lane: Lane;
  readonly #result: RaceResult;
  /** Called once, when the answer begins or there is none. */
  readonly #settle: (outcome: Outcome) => void;
  readonly #upstream: TcpSocket;
  readonly #requestBody: Relay;
  /** The beginning of the answer, until its head is whole. */
  readonly #received = new Inbox();
  readonly #readAnswer: AnswerReader;
  #answer: (Answer & { body: Relay }) | null = null;
  /** Credits the upstream with the answer. Its beginning proves little: what breaks off there would come again and again. */
  #credit = () => {};
  /** Whether the client was told that its connection can be reused. What follows a `Connection: close` is not read. */
  #keepsClient = false;
  /** True if the proxy has sent more than the answer. */
  #surplus = false;
  /** When the request was sent, unless it had been sent before. */
  #sentAt: number | null = null;
  /** True while the client has to read before more of the answer is taken. */
  #clientReads = false;
  /** True once it has let the upstream wait for so long that the target may give up. */
  #isUnread = false;
  readonly #noteEnd: ReturnType<Lane['begun']>;
  #over = false;

  constructor(job: PlainJob, lane: Lane, result: RaceResult, settle: (outcome: Outcome) => void) {
    this.#lane = lane;
    this.movedAt = job.desk.options.monotonic();
    this.#job = job;
    this.#result = result;
    this.#settle = settle;
    const { socket, received } = result.attempt.release();
    this.#upstream = socket;
    this.#received.add(received);
    this.#readAnswer = answerReader(job.request.method);
    this.#requestBody = relay(job.request.framing);
    this.#noteEnd = lane.begun(result.attempt.member, formatTarget(job.target), job.admission.session);
  }

  begin(sent: boolean): void {
    const { client, desk, request } = this.#job;
    desk.carriers.add(this);
    client.serving = this;
    this.#upstream.listener = {
      opened() {},
      received: (bytes) => this.#onBytes(asBuffer(bytes)),
      drained: () => {
        this.#moved();
        client.socket.resume();
      },
      ended: () => this.#onEnded(),
      closed: (fault) => this.#onEnded(fault !== null),
    };
    if (!this.#spend('up', request.forServer.length)) return;
    if (!sent) {
      this.#sentAt = this.movedAt;
      this.#upstream.write(headFor(request, this.#result.attempt.member.upstream));
      if (request.expectsContinue) client.socket.write(CONTINUE);
      this.#sendBody();
    }
    if (client.hasEnded) this.ended();
    if (this.#over) return;
    if (!this.#received.isEmpty) this.#readHead();
    this.#upstream.resume();
    this.#result.attempt.replay();
  }

  received(): void {
    this.#sendBody();
  }

  drained(): void {
    this.#moved();
    this.#clientReads = false;
    this.#upstream.resume();
  }

  ended(): void {
    if (!this.#requestBody.done) this.#job.client.socket.destroy();
  }

  left(): void {
    this.#end('left');
  }

  get patienceMs(): number {
    return this.#job.client.hasEnded && !this.#clientReads ? ENDED_MS : Number.POSITIVE_INFINITY;
  }

  look(): void {
    if (this.#answer !== null && this.#hasStalled(STALLED_MS)) this.#noteEnd('cut', this.movedAt);
  }

  /** A client that waits for an answer gets an error. Only silence after a whole request is the proxy's. */
  cut(idle = false): void {
    const isSilent = idle && this.#requestBody.done && this.#answer === null;
    this.#fail(maybeSent(), isSilent ? 'timeout' : null);
  }

  #moved(): void {
    const now = this.#job.desk.options.monotonic();
    this.#isUnread ||= this.#clientReads && now - this.movedAt >= STALLED_MS;
    this.movedAt = now;
  }

  #sendBody(): void {
    const { client } = this.#job;
    this.#moved();
    if (this.#requestBody.done || client.inbox.isEmpty) return;
    try {
      const { count, piece } = this.#requestBody.take(client.inbox.view());
      if (!this.#spend('up', count)) return;
      client.take(count);
      if (piece.length > 0 && !this.#upstream.write(piece)) client.socket.pause();
    } catch {
      this.#fail(badRequest('The body is malformed.'), null);
    }
  }

  #onBytes(bytes: Buffer): void {
    if (this.#over) return;
    this.#moved();
    if (this.#answer !== null) this.#sendAnswer(this.#answer.body, bytes);
    else {
      this.#received.add(bytes);
      this.#readHead();
    }
  }

  #readHead(): void {
    try {
      const answer = this.#readAnswer(this.#received.view());
      if (answer === undefined) return;
      const failure = NEVER_A_TARGETS.get(answer.status);
      if (failure !== undefined) {
        this.#fail(maybeSent(), failure);
        return;
      }
      this.#received.take(answer.bytes);
      this.#beginAnswer(answer, this.#received.remainder());
    } catch (error) {
      if (!(error instanceof MessageFault)) throw error;
      this.#fail(maybeSent(), 'protocol_error');
    }
  }

  #beginAnswer(answer: Answer, rest: Buffer): void {
    const { attempt, doubtful, agreed, slower } = this.#result;
    const { member, tookMs } = attempt;
    this.#answer = { ...answer, body: relay(answer.framing) };
    this.#settle('served');
    const { admission, target, desk, request } = this.#job;
    const lane = this.#lane;
    const site = siteOf(target.host);
    // A request that was sent once has won by a connection, which says nothing about the time to an answer.
    const ms = this.#sentAt === null ? tookMs : desk.options.monotonic() - this.#sentAt;
    const refused = REFUSALS.has(answer.status);
    // A session stays with an exit whose error may be its own, until a check has shown that it is.
    if (admission.session && !agreed && PROXY_TROUBLE.has(answer.status))
      lane.failed(member, 'server_error', false);
    this.#credit = () => {
      if (!doubtful && !PROXY_TROUBLE.has(answer.status)) {
        if (!isFound(member, desk.options.monotonic())) lane.worked(member, site, ms, slower);
        this.#watch(answer);
      }
      // What several exits got is the site's answer to everyone.
      if (!refused || !doubtful) lane.reached(site, member.upstream, !refused);
    };
    // The connection can be reused if both bodies have a known end.
    this.#keepsClient =
      !desk.isEnding && request.keepAlive && this.#requestBody.done && answer.framing !== 'until close';
    const added = [this.#keepsClient ? 'Connection: keep-alive' : 'Connection: close'];
    added.push(...(admission.session?.headers() ?? exitHeaders(member.upstream)));
    const head = answerHead(answer, added);
    this.#sendAnswer(this.#answer.body, rest, head);
  }

  #watch(answer: Answer): void {
    const { desk, admission, target, request } = this.#job;
    const { member } = this.#result.attempt;
    const line = request.forServer.toString('latin1', 0, request.forServer.indexOf('\r'));
    const url = `${formatTarget(target)} ${line.split(' ', 2)[1]}`;
    watchForPortal(desk, member, { answer, request, url, tunnel: isTunnelled(member.upstream) }, () => {
      this.#lane.failed(member, 'page');
      if (admission.session?.pinned === member.key) admission.session.move();
    });
  }

  /** The proxy's connection can be reused only without any doubt. */
  get #upstreamReusable(): boolean {
    const keepAlive = this.#answer?.keepAlive === true && !this.#job.request.last;
    return keepAlive && !this.#surplus && !this.#result.doubtful && this.#requestBody.done;
  }

  /** Counts bytes. Returns false, and ends the connections, if the quota is used up. */
  #spend(direction: 'up' | 'down', bytes: number): boolean {
    const { desk, admission } = this.#job;
    desk.meter.bytes(direction, bytes);
    if (admission.account.spend(bytes)) return true;
    this.#end('broken');
    return false;
  }

  /** `head` is sent with it in one write. */
  #sendAnswer(answer: Relay, bytes: Buffer, head: Buffer | null = null): void {
    const { client } = this.#job;
    try {
      const { count, piece: body } = answer.take(bytes);
      if (!this.#spend('down', count + (head?.length ?? 0))) return;
      // Anything that a proxy sends beyond the answer is discarded.
      this.#surplus = count < bytes.length;
      const piece = head === null ? body : Buffer.concat([head, body]);
      this.#clientReads = piece.length > 0 && !client.socket.write(piece);
      if (this.#clientReads) this.#upstream.pause();
      if (answer.done) this.#end('done');
    } catch {
      this.#end('broken', 'protocol_error');
    }
  }

  /** `cut`: by a fault, so that something may be missing. */
  #onEnded(cut = false): void {
    if (this.#over) return;
    this.#moved();
    if (this.#answer?.framing === 'until close' && !cut) this.#end('done');
    else this.#fail(maybeSent(), this.#isUnread ? null : 'closed');
  }

  /** The client gets an error, if there is no answer yet. `blame`: what the proxy did, or `null` if it was not at fault. */
  #fail(fault: GatewayFault, blame: Failure | null): void {
    if (this.#answer !== null) {
      this.#end('broken', blame);
      return;
    }
    this.#end('refused', blame);
    const { client, voice } = this.#job;
    client.refuse(voice, fault);
  }

  #end(how: 'done' | 'broken' | 'left' | 'refused', blame: Failure | null = null): void {
    if (this.#over) return;
    const { client, desk, target } = this.#job;
    const { member } = this.#result.attempt;
    this.#over = true;
    if (this.#answer === null) this.#settle(how === 'left' ? 'client_left' : 'no_answer');
    desk.carriers.delete(this);
    member.busy--;
    const patienceMs = how === 'left' ? CUT_MS : Math.min(this.patienceMs, desk.options.idleMs);
    const isCut =
      this.#answer !== null && (blame !== null || (how !== 'done' && this.#hasStalled(patienceMs)));
    if (isCut || (how === 'broken' && this.#answer !== null && desk.isEnding)) desk.meter.cut();
    if (isCut) this.#noteEnd('cut', this.movedAt);
    else if (how === 'left' && this.#answer === null && this.#hasStalled(GIVEN_UP_MS))
      this.#noteEnd('timeout', this.movedAt);
    else if (blame) this.#lane.failed(member, blame);
    else this.#credit();
    if (how === 'done') this.#noteEnd(null, this.movedAt);
    if (how === 'done' && this.#upstreamReusable) desk.idle.put(member.upstream, target, this.#upstream);
    else this.#upstream.destroy();
    // Only a broken connection shows the client that something is missing.
    if (how === 'broken') client.socket.destroy();
    else if (how === 'done') {
      if (this.#keepsClient) client.again(!this.#clientReads);
      else client.close();
    }
  }

  /** Whether the answer, or its known rest, has stood still for so long, and not because of the client. Events come in chunks, with any pause between. */
  #hasStalled(ms: number): boolean {
    const { left = 0 } = this.#answer?.body ?? { left: 1 };
    if (left === 0 || left === Number.POSITIVE_INFINITY) return false;
    if (this.#clientReads || !this.#requestBody.done) return false;
    return this.#job.desk.options.monotonic() - this.movedAt >= ms;
  }
}
