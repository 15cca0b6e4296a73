import { AppError, invalidParameter } from '../../errors.ts';
import { canonicalAddress, clientNetwork } from '../../lib/address.ts';
import type { Bucket, RateLimiter } from '../../lib/rate-limiter.ts';
import type { CheckResult, Endpoint, ProxyRecord } from '../proxy.ts';
import { formatAddress, UNKNOWN_COUNTRY } from '../proxy.ts';
import type { Recorder } from '../refresh/recorder.ts';
import type { ProxyStore } from '../store.ts';
import type { Checker } from './checker.ts';

/** A check that a caller asked for. */
export interface QuickTest extends Endpoint {
  /** The record that the outcome is written to. */
  proxyId?: number | undefined;
}

/** What came of it. */
export interface TestOutcome {
  result: Exclude<CheckResult, { verdict: 'unknown' }>;
  /** The record after the check, where the caller named one. */
  record: ProxyRecord | null;
  /** Of the exit address where it is known, else of the proxy. */
  country: string;
}

/** Checks of single proxies, on demand. */
export interface SingleChecks {
  /**
   * Checks now.
   * @throws {AppError} `invalid_parameter` for an address or port that is not dialled, `not_found` and `conflict` about
   *   `proxyId`, `busy` when too many run, `rate_limited` for an address that was tested too often, `unavailable` while no judge answers.
   */
  now(test: QuickTest): Promise<TestOutcome>;
  /**
   * Starts a check of a known proxy, unless one of it is under way.
   * @throws {AppError} `not_found`, and `busy` when too many wait.
   */
  start(id: number): Promise<ProxyRecord>;
  /** Resolves when the started ones have ended. */
  idle(): Promise<void>;
}

export interface SingleCheckOptions {
  store: Pick<ProxyStore, 'get'>;
  recorder: Recorder;
  checker: Pick<Checker, 'check'>;
  countryOf: (address: string) => string;
  signal: AbortSignal;
  onError: (error: unknown) => void;
  /** Tests of one address, whoever asks, so that nobody scans its ports from here; not limited when not given. */
  targets?: { limiter: RateLimiter; bucket: Bucket } | undefined;
}

const MOST_AT_ONCE = 200;
const JUDGE_RETRY_MS = 30_000;

export function createSingleChecks(options: SingleCheckOptions): SingleChecks {
  const { store, recorder, checker, countryOf, signal, onError, targets } = options;
  const started = new Map<number, Promise<void>>();
  let running = 0;

  async function bounded<T>(work: () => Promise<T>): Promise<T> {
    if (running >= MOST_AT_ONCE) {
      throw new AppError('busy', 'Too many tests are running.', { retryAfterMs: 2000 });
    }
    running++;
    try {
      return await work();
    } finally {
      running--;
    }
  }

  async function countTarget(ip: string): Promise<void> {
    if (!targets) return;
    const verdict = await targets.limiter.take(`target ${clientNetwork(ip)}`, targets.bucket);
    if (verdict.allowed) return;
    const { retryAfterMs } = verdict;
    throw new AppError('rate_limited', 'This address was tested too often; try again later.', {
      retryAfterMs,
    });
  }

  async function known(id: number): Promise<ProxyRecord> {
    const record = await store.get(id);
    if (!record) throw new AppError('not_found', `There is no proxy with the id ${id}.`);
    return record;
  }

  async function checkAndRecord(endpoint: Endpoint, record: ProxyRecord | null): Promise<TestOutcome> {
    const result = await checker.check(endpoint, signal);
    if (result.verdict === 'unknown') {
      throw new AppError(
        'unavailable',
        'No judge answers at the moment, so nothing can be said about proxies.',
        {
          retryAfterMs: JUDGE_RETRY_MS,
        },
      );
    }
    if (result.verdict === 'dead' && result.error === 'refused_address') {
      throw invalidParameter(
        'ip',
        `${formatAddress(endpoint)} is not dialled: not a public address, or a port of another service.`,
      );
    }
    if (!record) {
      const seen = result.verdict === 'alive' ? countryOf(result.exitIp) : UNKNOWN_COUNTRY;
      const country = seen === UNKNOWN_COUNTRY ? countryOf(endpoint.ip) : seen;
      return { result, record: null, country };
    }
    const adding = recorder.add({ endpoint, source: record.source, result });
    await recorder.flush();
    const saved = await adding;
    return { result, record: saved, country: saved?.country ?? record.country };
  }

  return {
    async now({ protocol, ip, port, proxyId }) {
      const address = canonicalAddress(ip);
      if (address === null) throw invalidParameter('ip', 'must be a literal IPv4 or IPv6 address');
      const endpoint: Endpoint = { protocol, ip: address, port };
      const record = proxyId === undefined ? null : await known(proxyId);
      if (record && (record.ip !== address || record.port !== port || record.protocol !== protocol)) {
        throw new AppError('conflict', `The proxy with the id ${record.id} has another address or protocol.`);
      }
      await countTarget(address);
      return bounded(() => checkAndRecord(endpoint, record));
    },

    async start(id) {
      const record = await known(id);
      if (started.has(id)) return record;
      if (started.size >= MOST_AT_ONCE) {
        throw new AppError('busy', 'Too many tests are waiting.', { retryAfterMs: 5000 });
      }
      await countTarget(record.ip);
      if (started.has(id)) return record;
      const task = checkAndRecord(record, record)
        .then(() => {}, onError)
        .finally(() => started.delete(id));
      started.set(id, task);
      return record;
    },

    async idle() {
      await Promise.all(started.values());
    },
  };
}
