import { siteOf } from '../proxy/targets/site.ts';
import type { Admission } from './admission.ts';
import type { Plan, Verdict } from './attempt.ts';
import type { Client } from './client.ts';
import type { Desk } from './desk.ts';
import type { Evidence } from './evidence.ts';
import { sessionLost, type Voice } from './fault.ts';
import { Handshake } from './handshake.ts';
import { answerJudge } from './http-answer.ts';
import type { Asked } from './journal.ts';
import { openingReader, type TunnelOpening } from './opening.ts';
import type { RaceResult, Running } from './race.ts';
import { Relay } from './relay.ts';
import type { Target } from './target.ts';
import { readGreeting } from './tls.ts';
import { exitHeaders, type Upstream } from './upstream.ts';

/** After this time, a silent client is one that waits for the server to speak first. */
const SILENT_CLIENT_MS = 300;
/** Time limit for the rest of a ClientHello. */
const HELLO_MS = 10_000;
/** A connection that ends sooner than this was not wanted. */
const SOON_MS = 1_000;
/** When a tunnel in which nobody has spoken is treated like any other. */
const BOTH_SILENT_MS = 60_000;

type Repeatable = Extract<TunnelOpening, { bytes: number }>;

interface TunnelOptions {
  client: Client;
  desk: Desk;
  target: Target;
  voice: Voice;
  admission: Admission;
}

/** A client's wish for a tunnel. */
interface Wanted extends TunnelOptions {
  asked: Asked;
  evidence: Evidence;
  /** Whether the client has its answer. */
  answered: boolean;
}

/**
 * Opens a tunnel for a client. The client is answered at once. If it then speaks TLS, its ClientHello goes to
 * upstreams until a ServerHello comes back, because a proxy's own "200" proves nothing. The head of a GET or HEAD is
 * also repeated until an answer of the target arrives. Anything else is sent once, to the first upstream that
 * connects.
 */
export function openTunnel(options: TunnelOptions): void {
  const { client, desk, voice, target, admission } = options;
  const { suits, session } = admission;
  const { strict, monotonic } = desk.options;
  const evidence = desk.engine.evidenceOf(admission.account);
  const asked: Asked = { kind: 'tunnel', target, admission, startedAt: monotonic() };
  const wanted = { ...options, asked, evidence, answered: !strict };
  if (strict) {
    connect(wanted, null);
    return;
  }

  // A hopeless request is refused while its client can still be told why.
  if (!evidence.lanes.tunnel.has(suits)) {
    desk.settled(asked, 'no_answer');
    client.refuse(voice, desk.unanswered('tunnel', target, 0));
    return;
  }
  client.socket.write(voice.yes(session?.headers() ?? []));
  let timer = setTimeout(() => go(null), SILENT_CLIENT_MS);
  let patient = false;
  const read = openingReader();
  client.onLeft = () => clearTimeout(timer);
  // A client that ends before it has sent anything whole has left.
  client.onEnded = () => client.socket.destroy();
  client.onBytes = () => look();
  if (!client.inbox.isEmpty) look();

  function look(): void {
    const opening = read(client.inbox.view());
    if (opening.kind === 'partial') {
      if (patient) return;
      patient = true;
      clearTimeout(timer);
      timer = setTimeout(() => go(null), HELLO_MS);
      return;
    }
    go('bytes' in opening ? opening : null);
  }

  function go(opening: Repeatable | null): void {
    clearTimeout(timer);
    connect(wanted, opening);
  }
}

/** Finds an upstream and continues. */
function connect(wanted: Wanted, opening: Repeatable | null): void {
  const { client, desk, target, voice, admission, asked, evidence, answered } = wanted;
  const payload = opening === null ? null : (client.inbox.peek(opening.bytes) ?? null);
  const planFor = (upstream: Upstream): Plan => ({
    tunnel: true,
    payload,
    judge: opening?.kind === 'request' ? judgeOf(evidence, upstream, opening.method) : judgeGreeting,
  });
  client.onBytes = () => {};
  // A handshake needs both halves; with other protocols a client may send everything and then listen.
  const isWaiting = opening?.kind === 'hello' || !answered;
  client.onEnded = isWaiting ? () => client.socket.destroy() : null;
  let running: Running | null = null;
  client.onLeft = () => {
    running?.cancel();
    desk.settled(asked, 'client_left');
  };
  // Without an answer to judge, the first upstream that accepts wins, so only known ones are tried.
  const wish = { kind: 'tunnel', target, admission, planFor, wide: payload !== null || !answered } as const;
  running = desk.engine.find(wish, (result, tries, lost) => {
    client.onLeft = null;
    if (result === null) {
      desk.settled(asked, 'no_answer', { tries });
      if (answered) client.socket.destroy();
      else client.refuse(voice, lost ? sessionLost() : desk.unanswered('tunnel', target, tries));
      return;
    }
    const begin = () => {
      const { member } = result;
      desk.settled(asked, 'served', { tries, member });
      if (!answered)
        client.socket.write(voice.yes(admission.session?.headers() ?? exitHeaders(member.upstream)));
      carry(wanted, result, opening);
    };
    if (opening !== null || !answered) begin();
    else awaitFirst(wanted, result, (late) => (late === null ? begin() : connect(wanted, late)));
  });
}

/**
 * Waits until either side speaks. A client may have taken its time for what can be repeated: then the upstream, which
 * has said nothing, is given up, and `go` gets that opening.
 */
function awaitFirst(
  { client, desk, asked, evidence }: Wanted,
  { attempt, member }: RaceResult,
  go: (late: Repeatable | null) => void,
): void {
  const { monotonic } = desk.options;
  const read = openingReader();
  const startedAt = monotonic();
  const timer = setTimeout(() => decide(null), BOTH_SILENT_MS);
  const rest = () => {
    clearTimeout(timer);
    client.onBytes = () => {};
    client.onLeft = null;
    client.onEnded = null;
    attempt.onNews = null;
  };
  const leave = () => {
    rest();
    attempt.cancel();
    member.busy--;
  };
  const decide = (late: Repeatable | null) => {
    if (late === null) rest();
    else leave();
    go(late);
  };
  const look = () => {
    const opening = read(client.inbox.view());
    if (opening.kind !== 'partial') decide('bytes' in opening ? opening : null);
  };
  client.onLeft = () => {
    leave();
    desk.settled(asked, 'client_left');
  };
  client.onBytes = look;
  client.onEnded = () => decide(null);
  attempt.onNews = (news) => {
    if (news === 'spoken') return decide(null);
    leave();
    client.socket.destroy();
    // Later, the target may have had enough of a silent client.
    if (monotonic() - startedAt < SOON_MS) evidence.failed('tunnel', member, 'closed');
  };
  const spoken = attempt.resume();
  if (!spoken && !client.inbox.isEmpty) look();
  if ((spoken || client.hasEnded) && attempt.onNews !== null) decide(null);
}

/** Hands both connections to a relay, and learns from what passes. */
function carry(
  { client, desk, target, evidence, admission: { account } }: Wanted,
  result: RaceResult,
  opening: Repeatable | null,
): void {
  const { attempt, member, tookMs, doubtful, slower } = result;
  const { meter, carriers } = desk;
  const { monotonic } = desk.options;
  const { socket, received } = attempt.release();
  if (opening) client.take(opening.bytes);
  client.onEnded = null;
  let owes = 0;
  const settle = () => {
    member.unproven -= owes;
    owes = 0;
  };
  const prove = () => {
    settle();
    evidence.worked('tunnel', member, { site: siteOf(target.host), tookMs, slower });
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
          onFailed: (why) => evidence.failed('tunnel', member, why),
        });
  if (handshake) member.unproven += ++owes;
  const relay: Relay = new Relay({
    client: client.socket,
    upstream: socket,
    monotonic,
    onLook: (now) => handshake?.look(now),
    onBytes(direction, count) {
      meter.bytes(direction, count);
      handshake?.moved(direction, count, monotonic());
      return account.spend(count);
    },
    onEnd(report) {
      carriers.delete(relay);
      client.gone();
      member.busy--;
      settle();
      handshake?.ended(report, monotonic());
    },
  });
  carriers.add(relay);
  relay.carry('down', received);
  relay.carry('up', client.inbox.remainder());
  if (client.hasEnded) relay.endClient();
  attempt.replay();
}

/** An alert that two proxies delivered is the target's. It says nothing about them. */
function isAlert(received: Buffer): boolean {
  return readGreeting(received) === 'alert';
}

function judgeOf({ lanes }: Evidence, upstream: Upstream, method: string): Plan['judge'] {
  // A proxy that relays plain requests may still answer CONNECT with its own page.
  const certain = upstream.proven.tunnel || lanes.tunnel.trusts(upstream);
  return answerJudge(method, certain);
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
