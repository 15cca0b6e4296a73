import { siteOf } from '../proxy/targets/site.ts';
import type { Admission } from './admission.ts';
import type { Plan, Verdict } from './attempt.ts';
import type { Client, Served } from './client.ts';
import type { Desk } from './desk.ts';
import type { Evidence } from './evidence.ts';
import type { Voice } from './fault.ts';
import { Handshake } from './handshake.ts';
import { answerJudge } from './http-answer.ts';
import type { Asked } from './journal.ts';
import { type Opening, openingReader, readGreeting } from './opening.ts';
import type { Race, RaceResult } from './race.ts';
import { Relay } from './relay.ts';
import type { Target } from './target.ts';
import { exitHeaders, type Upstream } from './upstream.ts';

/** After this time, a silent client is one that waits for the server to speak first. */
const SILENT_CLIENT_MS = 300;
/** Time limit for the rest of a ClientHello. */
const HELLO_MS = 10_000;
/** A connection that ends sooner than this was not wanted. */
const SOON_MS = 1_000;
/** When a tunnel in which nobody has spoken is treated like any other. */
const BOTH_SILENT_MS = 60_000;

type Repeatable = Extract<Opening, { bytes: number }>;

interface TunnelOptions {
  client: Client;
  desk: Desk;
  target: Target;
  voice: Voice;
  admission: Admission;
}

/**
 * Opens a tunnel for a client. The client is answered at once. If it then speaks TLS, its ClientHello goes to
 * upstreams until a ServerHello comes back, because a proxy's own "200" proves nothing. The head of a GET or HEAD is
 * also repeated until an answer of the target arrives. Anything else is sent once, to the first upstream that
 * connects.
 */
export function openTunnel(options: TunnelOptions): void {
  new Tunnel(options).begin();
}

/** A tunnel until bytes pass. A class, because there is one for each connection. */
class Tunnel implements Served {
  readonly #options: TunnelOptions;
  readonly #evidence: Evidence;
  readonly #asked: Asked;
  readonly #read = openingReader();
  /** What the upstreams compete for; `null`: a connection is enough. */
  #opening: Repeatable | null = null;
  #running: Race | null = null;
  /** An upstream that has connected, while neither side has spoken. */
  #found: RaceResult | null = null;
  #tries = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #patient = false;

  constructor(options: TunnelOptions) {
    const { desk, target, admission } = options;
    this.#options = options;
    this.#evidence = desk.engine.evidenceOf('tunnel', admission.account);
    this.#asked = { kind: 'tunnel', target, admission, startedAt: desk.options.monotonic() };
  }

  begin(): void {
    const { client, desk, voice, admission } = this.#options;
    client.serving = this;
    if (desk.options.strict) {
      this.#connect(null);
      return;
    }
    // A hopeless request is refused while its client can still be told why.
    if (!this.#evidence.lane.has(admission.suits)) {
      client.refuse(voice, desk.unanswered(this.#asked, 0));
      return;
    }
    client.socket.write(voice.yes(admission.session?.headers() ?? []));
    this.#timer = setTimeout(() => this.#connect(null), SILENT_CLIENT_MS);
    if (!client.inbox.isEmpty) this.received();
  }

  /**
   * Looks at what the client has sent. It may have taken its time for what can be repeated: then an upstream that has
   * said nothing yet is given up.
   */
  received(): void {
    const { client, desk } = this.#options;
    if (this.#opening !== null || desk.options.strict) return;
    const opening = this.#read(client.inbox.view());
    const isIdle = this.#running === null && this.#found === null;
    if ('bytes' in opening) {
      this.#giveUp();
      this.#connect(opening);
    } else if (opening.kind === 'partial') {
      if (!isIdle || this.#patient) return;
      this.#patient = true;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#connect(null), HELLO_MS);
    } else if (this.#found !== null) this.#carry(this.#found);
    else if (isIdle) this.#connect(null);
  }

  drained(): void {}

  left(): void {
    const wasSought = this.#running !== null || this.#found !== null;
    this.#giveUp();
    if (wasSought) this.#options.desk.settled(this.#asked, 'client_left');
  }

  /** A handshake needs both halves; with other protocols a client may send everything and then listen. */
  ended(): void {
    const { client, desk } = this.#options;
    if (this.#found !== null) this.#carry(this.#found);
    else if (this.#running === null || this.#opening?.kind === 'hello' || desk.options.strict)
      client.socket.destroy();
  }

  #giveUp(): void {
    clearTimeout(this.#timer);
    this.#running?.cancel();
    this.#running = null;
    if (this.#found === null) return;
    const { attempt } = this.#found;
    this.#found = null;
    attempt.onNews = null;
    attempt.cancel();
  }

  #connect(opening: Repeatable | null): void {
    const { client, desk, voice } = this.#options;
    const evidence = this.#evidence;
    clearTimeout(this.#timer);
    this.#opening = opening;
    const payload = opening === null ? null : (client.inbox.peek(opening.bytes) ?? null);
    const planFor = (upstream: Upstream): Plan => ({
      tunnel: true,
      payload,
      // A proxy that relays plain requests may still answer CONNECT with its own page.
      judge:
        opening?.kind === 'request' ? answerJudge(opening.method, evidence.knows(upstream)) : judgeGreeting,
    });
    // Without an answer to judge, the first upstream that accepts wins, so only known ones are tried.
    const wide = payload !== null || desk.options.strict;
    let isOver = false;
    const running = desk.engine.find({ ...this.#asked, planFor, wide }, (result, tries, lost) => {
      isOver = true;
      this.#running = null;
      this.#tries = tries;
      if (result === null) {
        const fault = desk.unanswered(this.#asked, tries, lost);
        if (desk.options.strict) client.refuse(voice, fault);
        else client.socket.destroy();
      } else if (opening !== null || desk.options.strict) this.#carry(result);
      else this.#awaitFirst(result);
    });
    if (!isOver) this.#running = running;
  }

  /** Waits until either side speaks. */
  #awaitFirst(result: RaceResult): void {
    const { client, desk } = this.#options;
    const { monotonic } = desk.options;
    const { attempt } = result;
    const startedAt = monotonic();
    this.#found = result;
    this.#timer = setTimeout(() => this.#carry(result), BOTH_SILENT_MS);
    attempt.onNews = (news) => {
      if (news === 'spoken') return this.#carry(result);
      this.#giveUp();
      client.socket.destroy();
      // Later, the target may have had enough of a silent client.
      if (monotonic() - startedAt < SOON_MS) this.#evidence.failed(attempt.member, 'closed');
    };
    const spoken = attempt.resume();
    if (!spoken && !client.inbox.isEmpty) this.received();
    if (this.#found === result && (spoken || client.hasEnded)) this.#carry(result);
  }

  /** Hands both connections to a relay, and learns from what passes. */
  #carry({ attempt, doubtful, slower }: RaceResult): void {
    const { member, tookMs } = attempt;
    const { client, desk, target, voice, admission } = this.#options;
    const { account, session } = admission;
    const { strict, monotonic } = desk.options;
    const evidence = this.#evidence;
    const opening = this.#opening;
    clearTimeout(this.#timer);
    this.#found = null;
    attempt.onNews = null;
    desk.settled(this.#asked, 'served', { tries: this.#tries, member });
    if (strict) client.socket.write(voice.yes(session?.headers() ?? exitHeaders(member.upstream)));
    const { socket, received } = attempt.release();
    if (opening) client.take(opening.bytes);
    let owes = 0;
    const settle = () => {
      member.unproven -= owes;
      owes = 0;
    };
    const prove = () => {
      settle();
      evidence.worked(member, { site: siteOf(target.host), tookMs, slower });
    };
    // The answer to a request was judged when it came.
    if (opening?.kind === 'request' && !doubtful) prove();
    const handshake =
      opening?.kind === 'request' || isAlert(received)
        ? null
        : new Handshake({
            greeted: opening !== null,
            now: monotonic(),
            onProven: prove,
            onFailed: (why) => evidence.failed(member, why),
          });
    if (handshake) member.unproven += ++owes;
    const relay: Relay = new Relay({
      client: client.socket,
      upstream: socket,
      monotonic,
      onLook: (now) => handshake?.look(now),
      onBytes(direction, count) {
        desk.meter.bytes(direction, count);
        handshake?.moved(direction, count, relay.movedAt);
        return account.spend(count);
      },
      onEnd(endedBy) {
        desk.carriers.delete(relay);
        client.gone();
        member.busy--;
        settle();
        handshake?.ended(endedBy, monotonic());
      },
    });
    desk.carriers.add(relay);
    relay.carry('down', received);
    relay.carry('up', client.inbox.remainder());
    if (client.hasEnded) client.socket.listener.ended();
    attempt.replay();
  }
}

/** An alert that two proxies delivered is the target's. It says nothing about them. */
function isAlert(received: Buffer): boolean {
  return readGreeting(received) === 'alert';
}

function judgeGreeting(received: Buffer): Verdict {
  switch (readGreeting(received)) {
    case 'hello':
      return 'good';
    case 'partial':
      return 'more';
    case 'alert':
      return { doubt: { look: `alert ${received[6]}`, mayBeOwn: false, refusal: false } };
    case 'other':
      return { failure: 'page' };
  }
}
