import { loginLine } from '../proxy/check/exchange.ts';
import { siteOf } from '../proxy/targets/site.ts';
import { asBuffer, type TcpSocket } from '../runtime/tcp.ts';
import type { Admission } from './admission.ts';
import type { Plan } from './attempt.ts';
import { type Caller, HTTP_VOICE } from './caller.ts';
import type { Carrier, Desk } from './desk.ts';
import { badRequest, GatewayFault, maybeSent, noAnswer, sessionLost } from './fault.ts';
import { type Answer, answerHead, judgeAnswer, readAnswer } from './http-answer.ts';
import { type BodyEnd, bodyEnd } from './http-message.ts';
import type { PlainRequest } from './http-request.ts';
import type { Race, RaceResult } from './race.ts';
import type { Upstream } from './upstream.ts';

interface PlainOptions {
  client: Caller;
  desk: Desk;
  request: PlainRequest;
  admission: Admission;
}

const CONTINUE = Buffer.from('HTTP/1.1 100 Continue\r\n\r\n');
/** Statuses with which a site refuses an address. */
const BLOCKS = new Set([403, 429, 451, 503]);
/** Statuses that ask for a login to a network or a proxy, which a target never sends. */
const NEVER_A_TARGETS = new Map([
  [407, 'auth_required'],
  [511, 'page'],
] as const);

/**
 * Sends one request and returns the answer. GET and HEAD are sent to further upstreams if one fails, until the first
 * byte of a good answer. Everything else is sent once, to the first upstream that connects.
 */
export function sendPlain(options: PlainOptions): void {
  const { client, desk, request, admission } = options;
  const startedAt = desk.monotonic();
  const repeatable = request.framing === 'none' && (request.method === 'GET' || request.method === 'HEAD');
  const judge = (upstream: Upstream) => (received: Buffer) =>
    judgeAnswer(received, request.method, upstream.proven.plain || desk.engine.lanes.plain.trusts(upstream));
  let running: Race | null = null;
  client.onLeft = () => {
    running?.cancel();
    desk.meter.settled('plain', 'client_left', 0);
  };
  running = desk.engine.find(
    {
      kind: 'plain',
      target: request.target,
      admission,
      planFor: (upstream): Plan => ({
        tunnel: isTunnelled(upstream),
        payload: repeatable ? headFor(request, upstream) : null,
        judge: judge(upstream),
      }),
      ...(repeatable && { idleFor: (upstream) => desk.idle.take(upstream, request.target) }),
      wide: repeatable,
    },
    (result, tries, lost) => {
      const ms = desk.monotonic() - startedAt;
      desk.meter.settled('plain', result === null ? 'no_answer' : 'served', ms);
      if (result === null) client.refuse(HTTP_VOICE, lost ? sessionLost() : noAnswer(request.target, tries));
      else new Exchange(options, result).begin(repeatable);
    },
  );
}

function headFor(request: PlainRequest, upstream: Upstream): Buffer {
  if (isTunnelled(upstream)) return request.forServer;
  const { forProxy } = request;
  if (upstream.login === null) return forProxy;
  const second = forProxy.indexOf('\r\n') + 2;
  return Buffer.concat([
    forProxy.subarray(0, second),
    Buffer.from(loginLine(upstream.login), 'latin1'),
    forProxy.subarray(second),
  ]);
}

/** An HTTP proxy that does not forward requests may still open a tunnel to port 80. */
function isTunnelled({ protocol, carries }: Upstream): boolean {
  return protocol !== 'http' || !carries.plain;
}

/** Sends the rest of a request to the upstream that was found, and the answer back. */
class Exchange implements Carrier {
  readonly halfClosed = false;
  readonly startedAt: number;
  movedAt: number;
  readonly #options: PlainOptions;
  readonly #result: RaceResult;
  readonly #upstream: TcpSocket;
  readonly #requestEnd: BodyEnd;
  #received: Buffer;
  #answer: Answer | null = null;
  #answerEnd: BodyEnd | null = null;
  /** True if the proxy has sent more than the answer. */
  #surplus = false;
  #over = false;

  constructor(options: PlainOptions, result: RaceResult) {
    this.startedAt = options.desk.monotonic();
    this.movedAt = this.startedAt;
    this.#options = options;
    this.#result = result;
    const { socket, received } = result.attempt.release();
    this.#upstream = socket;
    this.#received = received;
    this.#requestEnd = bodyEnd(options.request.framing);
  }

  begin(sent: boolean): void {
    const { client, desk, request } = this.#options;
    desk.carriers.add(this);
    client.onLeft = () => this.#end('left');
    client.onBytes = () => this.#sendBody();
    client.onDrained = () => {
      this.#moved();
      this.#upstream.resume();
    };
    this.#upstream.listener = {
      opened() {},
      received: (bytes) => this.#onBytes(asBuffer(bytes)),
      drained: () => {
        this.#moved();
        client.socket.resume();
      },
      ended: () => this.#onEnded(),
      closed: () => this.#onEnded(),
    };
    if (!sent) {
      this.#upstream.write(headFor(request, this.#result.attempt.upstream));
      if (request.expectsContinue) client.socket.write(CONTINUE);
      this.#sendBody();
    }
    if (this.#over) return;
    if (this.#received.length > 0) this.#readHead();
    this.#upstream.resume();
  }

  /** A client that waits for an answer gets an error. */
  cut(): void {
    this.#fail(maybeSent());
  }

  #moved(): void {
    this.movedAt = this.#options.desk.monotonic();
  }

  #sendBody(): void {
    const { client } = this.#options;
    this.#moved();
    if (this.#requestEnd.done || client.inbox.isEmpty) return;
    try {
      const count = this.#requestEnd.take(client.inbox.view());
      if (!this.#upstream.write(client.take(count))) client.socket.pause();
    } catch {
      this.#fail(badRequest('The body is malformed.'));
    }
  }

  #onBytes(bytes: Buffer): void {
    if (this.#over) return;
    this.#moved();
    if (this.#answerEnd !== null) {
      this.#sendAnswer(bytes);
      return;
    }
    this.#received = Buffer.concat([this.#received, bytes]);
    this.#readHead();
  }

  #readHead(): void {
    const { request } = this.#options;
    try {
      const answer = readAnswer(this.#received, request.method);
      if (answer === undefined) return;
      const failure = NEVER_A_TARGETS.get(answer.status as 407 | 511);
      if (failure !== undefined) {
        this.#options.desk.engine.lanes.plain.failed(this.#result.member, failure);
        this.#fail(maybeSent());
        return;
      }
      this.#beginAnswer(answer, this.#received.subarray(answer.bytes));
    } catch (error) {
      if (!(error instanceof GatewayFault)) throw error;
      this.#fail(maybeSent());
    }
  }

  #beginAnswer(answer: Answer, rest: Buffer): void {
    const { desk } = this.#options;
    const { member, tookMs, doubtful } = this.#result;
    this.#answer = answer;
    this.#answerEnd = bodyEnd(answer.framing);
    if (!doubtful) desk.engine.lanes.plain.succeeded(member, tookMs);
    const { admission, request } = this.#options;
    const site = admission.site ?? siteOf(request.target.host);
    desk.engine.sites.observe(site, member.upstream.key, !BLOCKS.has(answer.status));
    const added = [this.#reusable ? 'Connection: keep-alive' : 'Connection: close'];
    const { session } = this.#options.admission;
    const { exitIp } = member.upstream;
    if (session) added.push(...session.headers());
    else if (exitIp !== null) added.push(`X-Picpool-Exit: ${exitIp}`);
    const head = answerHead(answer, added);
    desk.meter.bytes('down', head.length);
    this.#received = Buffer.alloc(0);
    this.#sendAnswer(rest, head);
  }

  /** The client's connection can be reused if both bodies have a known end. */
  get #reusable(): boolean {
    return (
      this.#options.request.keepAlive && this.#requestEnd.done && this.#answer?.framing !== 'until close'
    );
  }

  /** The proxy's connection can be reused only without any doubt. */
  get #upstreamReusable(): boolean {
    const { personal } = this.#options.request;
    const keepAlive = this.#answer?.keepAlive === true;
    return keepAlive && !personal && !this.#surplus && !this.#result.doubtful && this.#requestEnd.done;
  }

  /** `head` is sent with it in one write. */
  #sendAnswer(bytes: Buffer, head: Buffer | null = null): void {
    const { client, desk, admission } = this.#options;
    try {
      const count = this.#answerEnd?.take(bytes) ?? 0;
      desk.meter.bytes('down', count);
      if (!admission.account.spend(count)) {
        this.#end('broken');
        return;
      }
      // Anything that a proxy sends beyond the answer is discarded.
      const body = bytes.subarray(0, count);
      this.#surplus = count < bytes.length;
      const piece = head === null ? body : Buffer.concat([head, body]);
      if (piece.length > 0 && !client.socket.write(piece)) this.#upstream.pause();
      if (this.#answerEnd?.done) this.#end('done');
    } catch {
      this.#end('broken');
    }
  }

  #onEnded(): void {
    if (this.#over) return;
    if (this.#answerEnd === null) {
      this.#fail(maybeSent());
      return;
    }
    this.#end(this.#answer?.framing === 'until close' ? 'done' : 'broken');
  }

  /** There is no answer yet, so the client can still get an error. */
  #fail(fault: GatewayFault): void {
    const { client, desk } = this.#options;
    if (this.#answerEnd === null) {
      desk.engine.lanes.plain.failed(this.#result.member, 'closed');
      this.#end(null);
      client.refuse(HTTP_VOICE, fault);
    } else this.#end('broken');
  }

  #end(how: 'done' | 'broken' | 'left' | null): void {
    if (this.#over) return;
    const { client, desk } = this.#options;
    const reusable = this.#reusable;
    this.#over = true;
    desk.carriers.delete(this);
    this.#result.member.busy--;
    if (how === 'done' && this.#upstreamReusable) {
      desk.idle.put(this.#result.member.upstream, this.#options.request.target, this.#upstream);
    } else this.#upstream.destroy();
    if (how === 'broken') {
      // Only a broken connection shows the client that something is missing.
      desk.engine.lanes.plain.failed(this.#result.member, 'closed');
      client.socket.destroy();
    } else if (how === 'done') {
      if (reusable) client.again();
      else client.close();
    }
  }
}
