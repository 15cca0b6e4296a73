import { BoundedMap } from '../lib/bounded-map.ts';
import { every, type Repetition } from '../lib/schedule.ts';
import { type Paid, type ProxyRecord, provenExit, UNFORGEABLE } from '../proxy/proxy.ts';
import type { ProxyStore } from '../proxy/store.ts';
import type { Engine } from './engine.ts';
import { type Failure, type Upstream, unknownUpstream } from './upstream.ts';

interface FollowPoolOptions {
  store: Pick<ProxyStore, 'stream' | 'version'>;
  engine: Pick<Engine, 'set'>;
  /** Reports that a proxy failed, so that it is checked soon. */
  report: (id: number, failure: Failure) => Promise<unknown>;
  /** The upstreams that the operator pays for, and how to have one checked that failed. */
  paid: { alive(): Paid[]; version(): number; doubt(key: string): void };
  /** Reports whether the first refresh is about to run, or running. */
  filling: () => Promise<boolean>;
  monotonic: () => number;
  onError: (error: unknown) => void;
}

/** The upstreams by key, and the IDs of their records. */
type Followed = Map<string, { upstream: Upstream; ids: number[] }>;

const LOOK_MS = 5_000;
/**
 * Interval while nothing is usable: a new pool has its first proxies within seconds, and its first user waits for
 * them.
 */
const EMPTY_LOOK_MS = 500;
/** This many of the most dependable proxies are used. */
const MOST_UPSTREAMS = 20_000;
/** A proxy is reported at most this often. */
const REPORT_GAP_MS = 60_000;

const NOTHING = { tunnel: false, plain: false };

/** Keeps the gateway's upstreams in step with the pool. */
export function followPool({ store, engine, report, paid, filling, monotonic, onError }: FollowPoolOptions) {
  let known: Followed = new Map();
  let seenVersion: string | null = null;
  const reported = new BoundedMap<number, number>(MOST_UPSTREAMS);
  let repetition: Repetition | null = null;
  let isFilling = true;
  let first: Promise<void> = Promise.resolve();
  let lookedAt = Number.NEGATIVE_INFINITY;

  async function look(): Promise<void> {
    lookedAt = monotonic();
    const version = `${await store.version()} ${paid.version()}`;
    if (version === seenVersion) return;
    const found: Followed = new Map();
    for (const upstream of paid.alive()) addTo(found, upstream);
    for await (const records of store.stream({ status: 'alive', proofs: UNFORGEABLE })) {
      for (const record of records) addTo(found, record);
      if (found.size >= MOST_UPSTREAMS) break;
    }
    for (const { upstream } of found.values()) engine.set(upstream);
    for (const [key, { upstream }] of known)
      if (!found.has(key)) engine.set({ ...upstream, carries: NOTHING });
    known = found;
    seenVersion = version;
  }

  return {
    /** Starts, with a first update at once. */
    start(): void {
      first = look().catch(onError);
      repetition = every(
        EMPTY_LOOK_MS,
        async () => {
          const isStillFilling = isFilling && (await filling().catch(() => true));
          if (known.size === 0 || monotonic() - lookedAt >= LOOK_MS) await look();
          isFilling = isStillFilling;
        },
        onError,
      );
    },

    /** Reports whether the pool is being filled for the first time, which it is once. */
    isFilling: () => isFilling,

    failed({ key }: Upstream, failure: Failure): void {
      // That says more about the target than about the proxy.
      if (failure === 'declined') return;
      paid.doubt(key);
      const now = monotonic();
      for (const id of known.get(key)?.ids ?? []) {
        if (now - (reported.get(id) ?? Number.NEGATIVE_INFINITY) < REPORT_GAP_MS) continue;
        reported.set(id, now);
        report(id, failure).catch(onError);
      }
    },

    async stop(): Promise<void> {
      await Promise.all([first, repetition?.stop()]);
    },
  };
}

/** A proxy that both forwards and tunnels has two records, but is one upstream. */
function addTo(found: Followed, record: ProxyRecord | Paid): void {
  const { id, protocol, country, source, anonymity, uptime: prior, responseMs: latencyMs } = record;
  const unknown = { ...unknownUpstream(record), carries: { ...NOTHING } };
  const facts = { id, country, source, prior, latencyMs, proven: true };
  const one = found.get(unknown.key) ?? { ids: [], upstream: { ...unknown, ...facts } };
  const { upstream, ids } = one;
  found.set(unknown.key, one);
  if (id !== null) ids.push(id);
  // The proof of what is paid for is checked where it is found.
  const exitIp = 'proof' in record ? provenExit(record) : record.exitIp;
  // The country is that of the exit if either of them proves it.
  if (upstream.exitIp === null && exitIp !== null) Object.assign(upstream, { exitIp, country });
  upstream.carries.tunnel ||= protocol !== 'http';
  upstream.carries.plain ||= protocol !== 'https';
  if (protocol !== 'http') upstream.anonymity.tunnel = anonymity;
  // What a proxy does not forward goes through its tunnel.
  if (protocol !== 'https' || !upstream.carries.plain) upstream.anonymity.plain = anonymity;
}
