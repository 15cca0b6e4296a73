import type { SecureContext } from 'node:tls';
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { CheckError, CheckResult, Dialled } from '../proxy.ts';
import { proxyKeyOf } from '../targets/site.ts';
import type { Dialler } from './dialler.ts';
import { askThrough, pathWith, rangeRequest } from './exchange.ts';
import { CheckFault, type FaultCode } from './fault.ts';
import { answerReader } from './http.ts';
import { type Judge, type Judges, type Scheme, schemeFor } from './judges.ts';
import { createOpinions, type Failed, type Opinion } from './opinion.ts';
import { confirm } from './remotes.ts';
import type { Challenge, Witness, Witnesses } from './witnesses.ts';

/** Number of judges to try. If each was down when the proxy failed, the result is `unknown`. */
const MOST_JUDGES = 2;

/**
 * Share of proxies that go silent while waiting for a judge and are then tried with another one. This reveals
 * a judge that drops traffic from proxies, without a second wait for each dead proxy.
 */
const SECOND_OPINIONS = 1 / 16;

interface InterrogationOptions extends RelayProofOptions {
  judges: Judges;
  relays: Relays;
  allowPrivate: boolean;
  randomToken: () => string;
  secrets: () => readonly string[];
}

/** Nothing was found out about the proxy. */
export const UNKNOWN: CheckResult = { verdict: 'unknown', error: 'judge_down' };

/**
 * Finds out whether a proxy works, and by what proof. Over TLS a judge's page is enough; without TLS it takes
 * our own judge's answer, or any judge's page and a part of a witness's file. Rejects if the result is
 * unknown and the fault is ours. `afresh`: whatever it has delivered before.
 */
export function createInterrogation(
  options: InterrogationOptions,
): (endpoint: Dialled, signal?: AbortSignal, afresh?: boolean) => Promise<CheckResult> {
  const { dialler, judges, relays, secureContext, monotonic } = options;
  const prove = createRelayProof(options);
  const opinionOf = createOpinions(options);

  /**
   * Reports whether a failure is the proxy's: our network worked meanwhile and, if the proxy was waiting for
   * the judge, so did the judge.
   */
  function isProxysFault(judge: Judge, failed: FaultCode, committed: boolean, startedAt: number) {
    // After a full timeout, a network that worked in the second half of the time would have delivered an answer.
    if (failed === 'timeout' && !committed) {
      return judges.confirmUplink(startedAt + (monotonic() - startedAt) / 2);
    }
    // Without a route or a free socket every proxy is unreachable, but so are the judges.
    if (failed === 'unreachable') return judges.confirmUplink(startedAt);
    if (!committed || failed === 'auth_required') return true;
    const since = failed === 'timeout' ? startedAt + (monotonic() - startedAt) / 2 : monotonic();
    return confirm(judge.remote, since);
  }

  /** Returns the answer of a judge on another host than `avoid`, or `null` if no judge can answer. */
  async function hear(
    endpoint: Dialled,
    scheme: Scheme,
    signal: AbortSignal | undefined,
    avoid?: string,
  ): Promise<Opinion | null> {
    // A second judge is tried only if the first turned out to be down.
    for (let n = 0; n < MOST_JUDGES; n++) {
      const judge = judges.next(scheme, avoid) ?? (await judges.find(scheme, avoid, signal));
      if (judge === null || signal?.aborted) return null;
      const token = scheme === 'https' ? null : options.randomToken();
      const { target } = judge.remote;
      const request = { target, path: pathWith(target, token ?? ''), hear: answerReader(), secureContext };
      const startedAt = monotonic();
      const held = await dialler.holdWith(endpoint, askThrough(endpoint, request), signal);
      if ('said' in held) {
        const opinion = opinionOf({ endpoint, judge, token }, held.said, held.times);
        // A page that the proxy may have made up does not show that the judge works, for which others would be blamed.
        if ('result' in opinion)
          judges.accepted(judge, opinion.result.proof === 'echoed' ? Number.NEGATIVE_INFINITY : startedAt);
        return opinion;
      }
      const { failed, committed } = held;
      if (failed === 'aborted' || failed === 'exhausted') throw new CheckFault(failed, 'nothing can be said');
      if (await isProxysFault(judge, failed, committed, startedAt)) {
        return { judge, error: failed, doubtful: committed && Math.random() < SECOND_OPINIONS };
      }
    }
    return null;
  }

  /** Asks another judge if the first has refused what may be a good proxy. */
  async function hearAnother(
    endpoint: Dialled,
    scheme: Scheme,
    first: Failed,
    signal: AbortSignal | undefined,
  ): Promise<Opinion | null> {
    const second = await hear(endpoint, scheme, signal, first.judge.host);
    if (second === null) {
      // There is no other judge. Its answer counts if it answers us directly.
      return (await confirm(first.judge.remote, monotonic())) ? first : null;
    }
    if ('result' in second) first.judge.remote.standing.overruled();
    return second;
  }

  return async (endpoint, signal, afresh = false) => {
    const scheme = schemeFor(endpoint.protocol, judges.has('https'));
    const key = `${endpoint.protocol} ${proxyKeyOf(endpoint)}`;
    let opinion = await hear(endpoint, scheme, signal);
    if (opinion !== null && 'error' in opinion && opinion.doubtful)
      opinion = await hearAnother(endpoint, scheme, opinion, signal);
    if (opinion === null) return UNKNOWN;
    if (!('result' in opinion)) {
      relays.forget(key);
      return { verdict: 'dead', error: opinion.error };
    }
    const { result } = opinion;
    if (result.proof !== 'echoed') return result;
    const isBelieved = relays.has(key);
    if (isBelieved && !afresh) return { ...result, proof: 'relayed' };
    const proof = await prove(endpoint, signal);
    if (proof === 'relayed') relays.add(key);
    else if (proof !== 'echoed') {
      relays.forget(key);
      return { verdict: 'dead', error: proof };
    }
    return { ...result, proof: isBelieved ? 'relayed' : proof };
  };
}

/** Maximum number of witnesses, on different hosts, that are asked about one proxy. */
const MOST_WITNESSES = 2;

interface RelayProofOptions {
  dialler: Pick<Dialler, 'holdWith'>;
  witnesses: Witnesses;
  secureContext: () => SecureContext;
  monotonic: () => number;
}

/** `relayed`, the error of the proxy, or `echoed` if no witness is available. */
type RelayProof = 'relayed' | 'echoed' | CheckError;

/**
 * Finds out whether a proxy delivers a part of a witness's file. Rejects with a `CheckFault` if that cannot
 * be decided and the fault is ours or the witnesses'.
 */
function createRelayProof(
  options: RelayProofOptions,
): (endpoint: Dialled, signal?: AbortSignal) => Promise<RelayProof> {
  const { dialler, witnesses, secureContext, monotonic } = options;

  async function fetchThrough(
    endpoint: Dialled,
    { witness, from, to, bytes }: Challenge,
    signal: AbortSignal | undefined,
  ): Promise<'relayed' | FaultCode> {
    const range = { from, to, maxBytes: bytes.length };
    const request = rangeRequest(witness.remote.target, range, secureContext);
    const held = await dialler.holdWith(endpoint, askThrough(endpoint, request), signal);
    if ('failed' in held) return held.failed;
    return held.said.bytes.equals(bytes) ? 'relayed' : 'bad_answer';
  }

  return async (endpoint, signal) => {
    let refused: Witness | undefined;
    let error: CheckError | undefined;
    let avoid: string | undefined;
    for (let n = 0; n < MOST_WITNESSES; n++) {
      const challenge = await witnesses.challenge(avoid);
      if (challenge === null) {
        if (n > 0) break;
        return 'echoed';
      }
      const { witness } = challenge;
      const startedAt = monotonic();
      const outcome = await fetchThrough(endpoint, challenge, signal);
      if (outcome === 'relayed') {
        witness.remote.accepted(startedAt);
        refused?.remote.standing.overruled();
        return 'relayed';
      }
      if (outcome === 'aborted' || outcome === 'exhausted')
        throw new CheckFault(outcome, 'nothing can be said');
      avoid = witness.host;
      if (!(await confirm(witness.remote, startedAt))) continue;
      refused = witness;
      error = outcome;
    }
    if (error === undefined) throw new CheckFault('aborted', 'the witnesses have failed');
    return error;
  };
}

/** Maximum number of proxies remembered, which takes 5 MB. */
const MOST = 50_000;

/** How long a delivered part of a witness's file counts. */
const BELIEVED_MS = { least: 3_600_000, most: 3 * 3_600_000 } as const;

export function createRelays(monotonic: () => number) {
  const until = new BoundedMap<string, number>(MOST);
  return {
    has: (proxy: string) => (until.get(proxy) ?? Number.NEGATIVE_INFINITY) > monotonic(),
    add(proxy: string): void {
      const { least, most } = BELIEVED_MS;
      // A random time, so that proxies cannot predict when they are asked.
      until.set(proxy, monotonic() + least + Math.random() * (most - least));
    },
    forget: (proxy: string) => void until.delete(proxy),
  };
}

/**
 * Remembers which proxies have recently shown that they relay. The memory belongs to this process: after a start, all
 * have to show it again.
 */
type Relays = ReturnType<typeof createRelays>;
