import { siteOf } from '../proxy/targets/site.ts';
import type { Plan, Verdict } from './attempt.ts';
import { Awaited } from './awaited.ts';
import type { Job, Served } from './client.ts';
import { hungUp } from './fault.ts';
import { Handshake } from './handshake.ts';
import { answerJudge } from './http-answer.ts';
import type { Lane } from './lane.ts';
import { type Opening, openingReader, readGreeting } from './opening.ts';
import type { Race, RaceResult } from './race.ts';
import { Relay } from './relay.ts';
import { formatTarget } from './target.ts';
import { CUT_MS, exitHeaders, GIVEN_UP_MS, STALLED_MS, type Upstream } from './upstream.ts';

/** After this time, a silent client is one that waits for the server to speak first. */
const SILENT_CLIENT_MS = 1_000;
/** Ports on which no server does: browsers open connections ahead of their requests. */
const CLIENT_FIRST: ReadonlySet<number> = new Set([80, 443, 8443]);

type Repeatable = Extract<Opening, { bytes: number }>;

/**
 * A tunnel until bytes pass. The client is answered at once. If it then speaks TLS, its ClientHello goes to
 * upstreams until a ServerHello comes back, because a proxy's own "200" proves nothing. The head of a GET or HEAD is
 * also repeated until an answer of the target arrives. Anything else is sent once, to the first upstream that
 * connects. A class, because there is one for each connection.
 */
export class Tunnel implements Served {
  #job: Job;
  readonly #lane: Lane;
  readonly #read = openingReader();
  /** What the upstreams compete for; `null`: a connection is enough. */
  #opening: Repeatable | null = null;
  #running: Race | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(job: Job) {
    this.#job = job;
    this.#lane = job.desk.engine.laneOf('tunnel', job.admission.account);
  }

  begin(): void {
    const { client, desk, voice, admission, target } = this.#job;
    client.serving = this;
    if (desk.options.strict) {
      this.#connect(null);
      return;
    }
    // A hopeless request is refused while its client can still be told why.
    if (!this.#lane.has(admission)) {
      client.refuse(voice, desk.unanswered(this.#job, 0, Boolean(admission.session?.only)));
      return;
    }
    client.socket.write(voice.yes(admission.session?.headers() ?? []));
    this.#timer = CLIENT_FIRST.has(target.port)
      ? setTimeout(() => client.socket.destroy(), desk.options.idleMs)
      : setTimeout(() => this.#connect(null), SILENT_CLIENT_MS);
    if (!client.inbox.isEmpty) this.received();
  }

  /** Looks at what the client has sent. If that can be repeated, an upstream that was sought for less is given up. */
  received(): void {
    const { client, desk } = this.#job;
    if (this.#opening !== null || desk.options.strict) return;
    const opening = this.#read(client.inbox.view());
    if ('bytes' in opening) {
      this.#running?.cancel();
      this.#connect(opening);
    } else if (this.#running === null) {
      clearTimeout(this.#timer);
      if (opening.kind === 'other') this.#connect(null);
      else this.#timer = setTimeout(() => this.#connect(null), desk.options.timeoutMs);
    }
  }

  left(): void {
    clearTimeout(this.#timer);
    if (this.#running === null) return;
    this.#running.cancel();
    this.#job.desk.settled(this.#job, 'client_left');
  }

  cut(): void {
    const { client, desk, voice } = this.#job;
    if (desk.options.strict) {
      this.#running?.cancel();
      desk.settled(this.#job, 'no_answer');
      client.refuse(voice, hungUp());
    } else client.socket.destroy();
  }

  /** A handshake needs both halves; with other protocols a client may send everything and then listen. */
  ended(): void {
    const { client, desk } = this.#job;
    if (this.#running === null || this.#opening?.kind === 'hello' || desk.options.strict)
      client.socket.destroy();
  }

  #connect(opening: Repeatable | null): void {
    const { client, desk, voice } = this.#job;
    const lane = this.#lane;
    clearTimeout(this.#timer);
    // The time until the client speaks is its own.
    this.#job = { ...this.#job, startedAt: desk.options.monotonic() };
    this.#opening = opening;
    const payload = opening === null ? null : (client.inbox.peek(opening.bytes) ?? null);
    const planFor = (upstream: Upstream): Plan => ({
      tunnel: true,
      payload,
      // A proxy that relays plain requests may still answer CONNECT with its own page.
      judge: opening?.kind === 'request' ? answerJudge(opening.method, lane.knows(upstream)) : judgeGreeting,
    });
    // Without an answer to judge, the first upstream that accepts wins, so only known ones are tried.
    const wide = payload !== null || desk.options.strict;
    let isOver = false;
    const running = desk.engine.find({ ...this.#job, planFor, wide }, (result, tries, lost) => {
      isOver = true;
      this.#running = null;
      if (result === null) {
        const fault = desk.unanswered(this.#job, tries, lost);
        if (desk.options.strict) client.refuse(voice, fault);
        else client.socket.destroy();
      } else this.#carry(result, tries);
    });
    if (!isOver) this.#running = running;
  }

  /** Hands both connections to a relay, and learns from what passes. */
  #carry({ attempt, doubtful, slower }: RaceResult, tries: number): void {
    const { member, tookMs } = attempt;
    const { client, desk, target, voice, admission } = this.#job;
    const { account, session } = admission;
    const { strict, monotonic, idleMs, timeoutMs } = desk.options;
    const lane = this.#lane;
    const opening = this.#opening;
    const place = formatTarget(target);
    desk.settled(this.#job, 'served', { tries, member });
    if (strict) client.socket.write(voice.yes(session?.headers() ?? exitHeaders(member.upstream)));
    const { socket, received } = attempt.release();
    if (opening) client.take(opening.bytes);
    let owes = 0;
    const settle = () => {
      member.unproven -= owes;
      owes = 0;
    };
    // Later than the handshake: who delivers only that, and the beginning of an answer, has proven it each time.
    const rest = `the rest of ${place}`;
    const awaited = new Awaited();
    let isProven = false;
    const prove = () => {
      isProven = true;
      awaited.begin(monotonic());
      settle();
      lane.distrust.trusted(place, monotonic());
      lane.worked(member, siteOf(target.host), tookMs, slower);
    };
    // The answer to a request was judged when it came.
    if (opening?.kind === 'request' && !doubtful) prove();
    // An alert that two proxies delivered is the target's. It says nothing about them.
    const handshake =
      opening?.kind === 'request' || readGreeting(received) === 'alert'
        ? null
        : new Handshake({
            greeted: opening !== null,
            now: monotonic(),
            onProven: prove,
            onFailed: (why) =>
              why === 'distrusted' ? lane.distrusted(member, place) : lane.failed(member, why),
          });
    if (handshake) member.unproven += ++owes;
    // A pause that ends in time says nothing, so what stands still is judged by who gives up, or by its length.
    const mostMs = Math.min(STALLED_MS, idleMs);
    const isStill = (ms: number) => awaited.isWithin && monotonic() - relay.cameAt >= ms;
    const note = lane.begun(member, rest, session);
    const silentSince = () => awaited.since(relay.cameAt, lane.distrust.recordsOf(rest));
    const hasGivenUp = () => (awaited.leftAt ?? relay.leftAt) - silentSince() >= GIVEN_UP_MS;
    const relay: Relay = new Relay({
      client: client.socket,
      upstream: socket,
      monotonic,
      onLook(now) {
        if (handshake?.look(now, timeoutMs)) relay.cut();
        if (!isProven) return;
        if (isStill(mostMs)) note('cut', relay.cameAt);
        else if (hasGivenUp()) note('timeout', silentSince());
      },
      onBytes(direction, bytes) {
        desk.meter.bytes(direction, bytes.length);
        handshake?.moved(direction, bytes.length, relay.movedAt);
        if (opening?.kind === 'hello') awaited.moved(direction, bytes, relay.movedAt);
        return account.spend(bytes.length);
      },
      onEnd(endedBy) {
        desk.carriers.delete(relay);
        client.gone();
        member.busy--;
        settle();
        const hasFailed = handshake?.ended(endedBy, monotonic()) === true;
        const isBroken = endedBy === 'upstream';
        const isCut = isBroken
          ? awaited.isWithin && !relay.isUnread
          : isStill(endedBy === 'client' ? CUT_MS : mostMs);
        const isStopped = awaited.isWithin && endedBy === 'limit' && desk.isEnding;
        const isSilent = !hasFailed && !isCut && hasGivenUp();
        if (isProven ? isCut || isStopped || isSilent : hasFailed && endedBy !== 'client') desk.meter.cut();
        if (isSilent) note('timeout', silentSince());
        else if (isProven) note(isCut ? 'cut' : null, isBroken ? monotonic() : relay.cameAt, awaited.records);
      },
    });
    desk.carriers.add(relay);
    client.serving = relay;
    // Early data was sent before anything came back, and so proves nothing.
    relay.carry('up', client.inbox.remainder());
    relay.carry('down', received);
    if (client.hasEnded) client.socket.listener.ended();
    attempt.replay();
  }
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
