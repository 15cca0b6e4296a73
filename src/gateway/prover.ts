import type { Clock } from '../lib/clock.ts';
import { forEachBounded } from '../lib/for-each-bounded.ts';
import { type CheckResult, type Dialled, type Protocol, provenExit } from '../proxy/proxy.ts';
import type { Suits } from './lane.ts';
import type { Kind, Upstream } from './upstream.ts';

interface ProverOptions {
  upstreams: ReadonlyMap<string, Upstream>;
  check: (endpoint: Dialled, signal: AbortSignal) => Promise<CheckResult>;
  /** Resolves with true while a judge answers, so that a failed check is meaningful. */
  judged: () => Promise<boolean>;
  /** Called with each new result about an upstream. */
  set: (upstream: Upstream) => void;
  /** Maximum number of checks at once. */
  concurrency: number;
  clock: Clock;
  onError: (error: unknown) => void;
  /** Called whenever all have been checked. */
  onRound: (counts: { proven: number; all: number }) => void;
}

export type Prover = ReturnType<typeof startProver>;

const PROVEN_PRIOR = 0.9;
const FAILED_PRIOR = 0.05;
/** Maximum time that clients wait for the first proof. */
const PATIENCE_MS = 3_000;
/** All are checked again after this time, and those that failed may return. */
const ROUND_MS = 10 * 60_000;

/** Finds out which upstreams of a list work, again and again, while they are already in use. */
export function startProver(options: ProverOptions) {
  const { upstreams, clock, onError } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const proven: Record<Kind, Set<string>> = { tunnel: new Set(), plain: new Set() };
  const { promise: ready, resolve: isReady } = Promise.withResolvers<void>();

  /** Checks each kind of traffic. One check is enough for both if the proxy handles both in the same way. */
  async function prove(upstream: Upstream): Promise<void> {
    const { protocol, ip, port, login, tls } = upstream;
    const forwards: [Protocol, Kind[]] = [protocol, protocol === 'http' ? ['plain'] : ['plain', 'tunnel']];
    const ways: [Protocol, Kind[]][] = protocol === 'http' ? [forwards, ['https', ['tunnel']]] : [forwards];
    await Promise.all(
      ways.map(async ([as, kinds]) => {
        const result = await options.check({ protocol: as, ip, port, login, tls }, signal);
        if (signal.aborted || result.verdict === 'unknown') return;
        for (const kind of kinds) learn(upstream, kind, result);
      }),
    );
  }

  function learn(upstream: Upstream, kind: Kind, result: CheckResult): void {
    // What only a third party's page said could be forged by the proxy.
    const passed = result.verdict === 'alive' && result.proof !== 'echoed';
    upstream.proven[kind] = passed;
    if (passed) {
      proven[kind].add(upstream.key);
      upstream.prior = PROVEN_PRIOR;
      upstream.latencyMs = result.totalMs;
      upstream.anonymity = result.anonymity;
      upstream.exitIp = provenExit(result);
    } else {
      proven[kind].delete(upstream.key);
      if (!upstream.proven.tunnel && !upstream.proven.plain) upstream.prior = FAILED_PRIOR;
    }
    options.set(upstream);
    if (proven.tunnel.size > 0 && proven.plain.size > 0) isReady();
  }

  async function run(): Promise<void> {
    clock.sleep(PATIENCE_MS, signal).then(isReady, isReady);
    while (!signal.aborted) {
      if (await options.judged()) {
        await forEachBounded(upstreams.values(), options.concurrency, prove, signal);
        const all = new Set([...proven.tunnel, ...proven.plain]);
        if (!signal.aborted) options.onRound({ proven: all.size, all: upstreams.size });
      }
      isReady();
      await clock.sleep(ROUND_MS, signal).catch(() => {});
    }
  }

  const running = run().catch((error: unknown) => {
    isReady();
    onError(error);
  });

  return {
    /** Resolves when the first has passed, or none will soon. */
    ready,
    /** Once some have passed for a kind of traffic, only those suit. */
    suits: ((upstream, kind) => proven[kind].size === 0 || upstream.proven[kind]) as Suits,
    /** Resolves when everything has stopped. */
    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}
