import { siteOf } from '../proxy/targets/site.ts';
import type { Account } from './accounts.ts';
import type { Admission } from './admission.ts';
import type { Plan, Verdict } from './attempt.ts';
import type { Caller, Voice } from './caller.ts';
import type { Desk } from './desk.ts';
import { noAnswer, sessionLost } from './fault.ts';
import { judgeAnswer } from './http-answer.ts';
import { readTunnelOpening, type TunnelOpening } from './opening.ts';
import type { Race, RaceResult } from './race.ts';
import { Relay, type RelayReport } from './relay.ts';
import type { Target } from './target.ts';
import { readGreeting } from './tls.ts';
import type { Upstream } from './upstream.ts';

/** After this time, a silent client is one that waits for the server to speak first. */
const SILENT_CLIENT_MS = 300;
/** Time limit for the rest of a ClientHello. */
const HELLO_MS = 10_000;
/**
 * A client that ends after fewer bytes has sent at most an alert, because the end of a handshake takes more: it did
 * not trust the certificate.
 */
const LEAST_FINISHED_BYTES = 40;
const DISTRUST_MS = 10_000;

type Repeatable = Extract<TunnelOpening, { bytes: number }>;

interface TunnelOptions {
  client: Caller;
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
  const { client, desk, voice } = options;
  const startedAt = desk.monotonic();
  const { session } = options.admission;
  if (desk.strict) {
    connect(options, { opening: null, answered: false, startedAt });
    return;
  }

  // A hopeless request is refused while its client can still be told why.
  if (!desk.engine.lanes.tunnel.has(options.admission.suits)) {
    desk.meter.settled('tunnel', 'no_answer', 0);
    client.refuse(voice, noAnswer(options.target, 0));
    return;
  }
  client.socket.write(voice.yes(session?.headers() ?? []));
  let timer = setTimeout(() => go(null), SILENT_CLIENT_MS);
  let patient = false;
  client.onLeft = () => clearTimeout(timer);
  client.onBytes = () => look();
  if (!client.inbox.isEmpty) look();

  function look(): void {
    const opening = readTunnelOpening(client.inbox.view());
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
    connect(options, { opening, answered: true, startedAt });
  }
}

/** Finds an upstream and continues. */
function connect(
  { client, desk, target, voice, admission }: TunnelOptions,
  { opening, answered, startedAt }: { opening: Repeatable | null; answered: boolean; startedAt: number },
): void {
  const payload = opening === null ? null : (client.inbox.peek(opening.bytes) ?? null);
  const planFor = (upstream: Upstream): Plan => ({
    tunnel: true,
    payload,
    judge: opening?.kind === 'request' ? answerJudge(desk, upstream, opening.method) : judgeGreeting,
  });
  client.onBytes = () => {};
  // A handshake needs both halves; with other protocols a client may send everything and then listen.
  client.endIsLeaving = opening?.kind === 'hello';
  let running: Race | null = null;
  client.onLeft = () => {
    running?.cancel();
    desk.meter.settled('tunnel', 'client_left', 0);
  };
  running = desk.engine.find(
    // Without an answer to judge, the first upstream that accepts wins, so only known ones are tried.
    { kind: 'tunnel', target, admission, planFor, wide: payload !== null || !answered },
    (result, tries, lost) => {
      const ms = desk.monotonic() - startedAt;
      if (result === null) {
        desk.meter.settled('tunnel', 'no_answer', ms);
        if (answered) client.socket.destroy();
        else client.refuse(voice, lost ? sessionLost() : noAnswer(target, tries));
        return;
      }
      desk.meter.settled('tunnel', 'served', ms);
      if (!answered) client.socket.write(voice.yes(admission.session?.headers() ?? []));
      const site = admission.site ?? siteOf(target.host);
      carry({ client, desk, result, opening, account: admission.account, site });
    },
  );
}

/** Hands both connections to a relay, and learns from how it ends. */
function carry({
  client,
  desk,
  result,
  opening,
  account,
  site,
}: {
  client: Caller;
  desk: Desk;
  result: RaceResult;
  opening: Repeatable | null;
  account: Account;
  site: string;
}): void {
  const { attempt, member, tookMs, doubtful } = result;
  const lane = desk.engine.lanes.tunnel;
  const wonAt = desk.monotonic();
  const { socket, received } = attempt.release();
  if (opening) client.take(opening.bytes);
  client.onLeft = null;
  const { sites } = desk.engine;
  if (!doubtful) {
    lane.succeeded(member, tookMs);
    sites.observe(site, member.upstream.key, true);
  }
  const relay: Relay = new Relay({
    client: client.socket,
    upstream: socket,
    monotonic: desk.monotonic,
    onBytes(direction, count) {
      desk.meter.bytes(direction, count);
      return account.spend(count);
    },
    onEnd(report) {
      desk.carriers.delete(relay);
      client.gone();
      member.busy--;
      if (opening?.kind === 'hello' && isDistrust(report, desk.monotonic() - wonAt))
        lane.failed(member, 'distrusted');
    },
  });
  desk.carriers.add(relay);
  relay.carry('down', received);
  relay.carry('up', client.inbox.remainder());
  if (client.hasEnded) relay.endClient();
}

function isDistrust({ up, endedBy }: RelayReport, ms: number): boolean {
  return endedBy === 'client' && up < LEAST_FINISHED_BYTES && ms < DISTRUST_MS;
}

function answerJudge({ engine }: Desk, upstream: Upstream, method: string): Plan['judge'] {
  // A proxy that relays plain requests may still answer CONNECT with its own page.
  const certain = upstream.proven.tunnel || engine.lanes.tunnel.trusts(upstream);
  return (received) => judgeAnswer(received, method, certain);
}

function judgeGreeting(received: Buffer): Verdict {
  switch (readGreeting(received)) {
    case 'hello':
      return 'good';
    case 'partial':
      return 'more';
    case 'alert':
      return { doubt: `alert ${received[6]}` };
    case 'other':
      return { failure: 'page' };
  }
}
