import type { Clock } from '../../lib/clock.ts';
import { forEachBounded } from '../../lib/for-each-bounded.ts';
import type { Log } from '../../lib/logger.ts';
import { every, type Repetition } from '../../lib/schedule.ts';
import { plannedFor } from '../../lib/stored-time.ts';
import type { Checker } from '../check/checker.ts';
import { protocolsOf } from '../discovery/trials.ts';
import { formatAddress, type Paid, type Protocol, provenExit, UNKNOWN_COUNTRY } from '../proxy.ts';
import type { PaidEntry } from '../sources/candidate-sink.ts';
import type { ReadSource } from '../sources/read.ts';
import { NOTHING_USABLE, type Source } from '../sources/source.ts';
import { proxyKeyOf } from '../targets/site.ts';

interface PaidOptions {
  sources: readonly Source[];
  readSource: ReadSource;
  checker: Pick<Checker, 'check' | 'judges'>;
  /** Returns two upper-case letters, `ZZ` if unknown. */
  countryOf: (address: string) => string;
  clock: Clock;
  log: Log;
  /** Time between two readings of the lists, in ms. */
  readEveryMs: number;
}

interface Known {
  entry: PaidEntry;
  source: string;
  works: Paid[];
  /** Its keys in the gateway, one for each protocol that works. */
  keys: string[];
  /** The exit of the last check; an upstream with several of them has none. */
  exit: string | null;
  rotates: boolean;
  worked?: boolean;
  failures: number;
  checkedAt: number;
  nextCheck: number;
}

const MOST = 10_000;
const CHECKS_AT_ONCE = 32;
const LOOK_MS = 1_000;
/** Time between checks of one that works. The longest pause of one that does not is the same. */
const CHECK_EVERY_MS = 10 * 60_000;
/** Minimum time between two checks of one upstream. */
const GAP_MS = 30_000;
/** Share of time in which one that works is expected to work. */
const WORKING = 0.95;
/** Another protocol would fail as well. */
const SURELY_DEAD: readonly string[] = ['unreachable', 'refused_address', 'tls_error', 'auth_required'];

const UNCHECKED = { works: [], keys: [], exit: null, rotates: false, failures: 0, checkedAt: 0 };

/**
 * The upstreams that the operator pays for: entries of his own lists with a host name, TLS to the proxy, or one of
 * several logins for one address. They are kept in memory only, so that no list, export or count can show them.
 */
export function createPaidUpstreams(options: PaidOptions) {
  const { clock, log, readEveryMs } = options;
  const sources = options.sources.filter(({ logins }) => logins);
  let known: ReadonlyMap<string, Known> = new Map();
  let version = 0;
  let readAt = Number.NEGATIVE_INFINITY;
  let repetition: Repetition | null = null;

  async function check(key: string, upstream: Known, signal: AbortSignal): Promise<void> {
    const { works, error } = await examine(upstream, options, signal);
    const now = clock.now();
    if (error === 'unknown') {
      upstream.nextCheck = now + GAP_MS;
      return;
    }
    const { source } = upstream;
    const isNews = upstream.checkedAt === 0 || upstream.works.length > 0 !== works.length > 0;
    if (factsOf(upstream.works) !== factsOf(works)) version++;
    upstream.works = works;
    upstream.keys = works.map(proxyKeyOf);
    upstream.worked ||= works.length > 0;
    upstream.checkedAt = now;
    upstream.failures = works.length > 0 ? 0 : upstream.failures + 1;
    // What has worked comes back, and its users may have nothing else. What never has may be a login that has expired.
    const doublings = Math.min(upstream.failures, upstream.worked ? 1 : 10);
    const pause = works.length > 0 ? CHECK_EVERY_MS : GAP_MS * 2 ** doublings;
    upstream.nextCheck = now + Math.min(CHECK_EVERY_MS, pause);
    if (!isNews) return;
    if (works.length > 0) log('debug', 'upstream works', { upstream: key, source });
    else log('warn', 'upstream does not work', { upstream: key, source, error });
  }

  async function look(signal: AbortSignal): Promise<void> {
    const now = clock.now();
    if (Math.abs(now - readAt) >= readEveryMs) {
      readAt = now;
      known = await readOwn(sources, known, options, signal);
      version++;
    }
    const due = [...known].filter(([, { nextCheck }]) => plannedFor(nextCheck, now, CHECK_EVERY_MS) <= now);
    await forEachBounded(due, CHECKS_AT_ONCE, ([key, upstream]) => check(key, upstream, signal), signal);
  }

  return {
    start(): void {
      if (sources.length === 0) return;
      repetition = every(LOOK_MS, look, (error) => log('warn', 'own lists not read', { error }));
    },
    async stop(): Promise<void> {
      await repetition?.stop();
    },
    /** Returns those that work, once for each protocol that they speak. */
    alive: () => [...known.values()].flatMap(({ works }) => works),
    /** Changes whenever `alive` does. */
    version: () => version,
    /** Brings the next check of an upstream forward, by its key. */
    doubt(key: string): void {
      for (const upstream of known.values()) {
        if (upstream.keys.includes(key))
          upstream.nextCheck = Math.min(upstream.nextCheck, upstream.checkedAt + GAP_MS);
      }
    },
    /** Reads the lists again soon. */
    reread(): void {
      readAt = Number.NEGATIVE_INFINITY;
    },
  };
}

/** What the gateway chooses by; response times alone change nothing. */
function factsOf(works: readonly Paid[]): string {
  return works.map(({ protocol, country, exitIp }) => `${protocol} ${country} ${exitIp}`).join();
}

/** Reads the operator's own lists. What is known of an upstream stays. */
async function readOwn(
  sources: readonly Source[],
  known: ReadonlyMap<string, Known>,
  { readSource, clock }: PaidOptions,
  signal: AbortSignal,
): Promise<Map<string, Known>> {
  const found = new Map<string, Known>();
  /** The first login of each address. The pool has it alone, unless there is another. */
  const listed = new Map<string, { entry: PaidEntry; source: string }>();
  const nextCheck = clock.now();

  function keep(entry: PaidEntry, source: string): void {
    const { kind, ...place } = entry;
    const key = `${kind} ${proxyKeyOf({ ...place, protocol: 'http' })}`;
    if (found.size >= MOST || found.has(key)) return;
    found.set(key, { ...(known.get(key) ?? { ...UNCHECKED, nextCheck }), entry, source });
  }

  for (const { name, ...rest } of sources) {
    const report = await readSource(
      { name, ...rest },
      {
        signal,
        onPaid: (entry) => keep(entry, name),
        onCandidate(kind, ip, port, country, login) {
          if (login === null) return;
          const entry = { kind, ip, port, country, login, tls: null };
          const first = listed.get(formatAddress(entry));
          if (first === undefined) listed.set(formatAddress(entry), { entry, source: name });
          else if (first.entry.login !== login) {
            keep(first.entry, first.source);
            keep(entry, name);
          }
        },
      },
    );
    const isEmpty = report.error === NOTHING_USABLE && report.rejected === 0;
    if (report.error === null || isEmpty) continue;
    // A list that cannot be read or understood at the moment takes nothing away.
    for (const { entry, source } of known.values()) if (source === name) keep(entry, name);
  }
  return found;
}

/**
 * Checks an upstream with each protocol that it may speak. What cannot be decided stays as it was. `error`: of the last
 * failure, `unknown` if nothing works or worked before, and a judge was missing.
 */
async function examine(
  upstream: Known,
  { checker, countryOf }: PaidOptions,
  signal: AbortSignal,
): Promise<{ works: Paid[]; error: string }> {
  const { entry, source } = upstream;
  const { kind, country: listed, ...place } = entry;
  const works: Paid[] = [];
  const undecided: Protocol[] = [];
  let isUnknown = false;
  let error = '';
  for (const protocol of protocolsOf(kind, checker.judges())) {
    // SOCKS is tried where nothing is known and neither works.
    if (works.length > 0 && protocol.startsWith('socks')) break;
    const result = await checker.check({ ...place, protocol }, signal);
    if (result.verdict === 'dead') {
      error = result.error;
      if (SURELY_DEAD.includes(error)) return { works, error };
    } else if (result.verdict === 'unknown' || result.proof === 'echoed') {
      undecided.push(protocol);
      if (result.verdict === 'unknown') isUnknown = true;
      else error = 'echoed';
    } else {
      const { anonymity, totalMs: responseMs } = result;
      const exitIp = provenExit(result);
      upstream.rotates ||= upstream.exit !== null && exitIp !== null && upstream.exit !== exitIp;
      upstream.exit = exitIp ?? upstream.exit;
      const seen = countryOf(result.exitIp);
      const country = seen === UNKNOWN_COUNTRY ? (listed ?? seen) : seen;
      const facts = { country, anonymity, exitIp: upstream.rotates ? null : exitIp, responseMs };
      works.push({ ...place, protocol, ...facts, id: null, source, uptime: WORKING });
    }
  }
  works.push(...upstream.works.filter(({ protocol }) => undecided.includes(protocol)));
  return { works, error: isUnknown && upstream.works.length === 0 && works.length === 0 ? 'unknown' : error };
}
