import { AppError, inEnglish, invalidParameter } from '../../errors.ts';
import { canonicalAddress } from '../../lib/address.ts';
import { createSemaphore } from '../../lib/semaphore.ts';
import type { CheckResult, Dialled, Endpoint, ProxyRecord } from '../proxy.ts';
import { countryBy, formatAddress } from '../proxy.ts';
import type { Recorder } from '../refresh/recorder.ts';
import { type BlindResult, type BlindTest, checkPatiently, demandJudge, noJudge } from './blind-test.ts';
import type { Checker } from './checker.ts';
import type { CountTarget } from './target-limits.ts';

/** A check requested by a caller. */
interface QuickTest extends Endpoint {
  /** The record to update with the outcome. */
  proxyId?: number | undefined;
}

interface Tester {
  admin: boolean;
  /** The name that stands for the client; see `RequestContext.payer`. */
  payer: string;
}

/** The outcome of a test. */
export interface TestOutcome {
  result: Exclude<CheckResult, { verdict: 'unknown' }> | BlindResult;
  /** Country of the proven exit if it is known, otherwise of the proxy. */
  country: string;
}

export interface SingleCheckOptions {
  get: (id: number) => Promise<ProxyRecord>;
  recorder: Recorder;
  checker: Pick<Checker, 'check' | 'judges' | 'probe'>;
  blind: BlindTest;
  countryOf: (address: string) => string;
  signal: AbortSignal;
  onError: (error: unknown) => void;
  /** Default: unlimited. */
  countTarget?: CountTarget | undefined;
}

const MOST_AT_ONCE = 200;

/** Checks single proxies on demand. */
export function createSingleChecks(options: SingleCheckOptions) {
  const { get, recorder, checker, blind, countryOf, signal, onError, countTarget } = options;
  const started = new Map<number, Promise<void>>();
  const bounded = createSemaphore(MOST_AT_ONCE, {
    maxWaiting: 0,
    message: inEnglish('Too many tests are running.'),
  });

  async function check(endpoint: Dialled): Promise<Exclude<CheckResult, { verdict: 'unknown' }>> {
    const result = await checkPatiently(checker, endpoint, signal, true);
    if (result.verdict === 'unknown') throw noJudge();
    demandDialled(endpoint, result);
    return result;
  }

  async function testUnknown(endpoint: Endpoint, { admin, payer }: Tester): Promise<TestOutcome> {
    const result = admin ? await check(endpoint) : await blind(endpoint, payer);
    demandDialled(endpoint, result);
    const seen = result.verdict === 'alive' ? result : { proof: null, exitIp: null };
    return { result, country: countryBy(countryOf, { ...seen, ip: endpoint.ip }) };
  }

  async function testKnown(record: ProxyRecord): Promise<TestOutcome> {
    const result = await check(record);
    const adding = recorder.add({ endpoint: record, source: record.source, result });
    await recorder.flush();
    const saved = await adding;
    return { result, country: saved?.country ?? record.country };
  }

  return {
    /**
     * Checks now. Without the administrator's token or a record, the result only says whether the address is a working
     * proxy; see `BlindTest`.
     * @throws {AppError} `invalid_parameter` for an address or port that is never dialled, `not_found` and `conflict`
     * about `proxyId`, `busy` if too many tests run, `rate_limited` if the address was tested too often or the client
     * runs too many tests, `unavailable` while no judge answers.
     */
    async now({ protocol, ip, port, proxyId }: QuickTest, tester: Tester): Promise<TestOutcome> {
      const address = canonicalAddress(ip);
      if (address === null)
        throw invalidParameter('ip', inEnglish('ip must be a literal IPv4 or IPv6 address.'));
      const record = proxyId === undefined ? null : await get(proxyId);
      if (record && (record.ip !== address || record.port !== port || record.protocol !== protocol)) {
        throw new AppError(
          'conflict',
          inEnglish(`The proxy with the ID ${record.id} has a different address or protocol.`),
        );
      }
      await countTarget?.(address);
      // The login is used only if the caller names the record, so that nobody learns of logins by guessing addresses.
      const endpoint: Endpoint = { protocol, ip: address, port };
      return bounded(() => (record ? testKnown(record) : testUnknown(endpoint, tester)));
    },

    /**
     * Starts a check of a known proxy, unless one is already running.
     * @throws {AppError} `not_found`, `busy` if too many checks wait, and `unavailable` while no judge answers.
     */
    async start(id: number): Promise<ProxyRecord> {
      const record = await get(id);
      if (started.has(id)) return record;
      await demandJudge(checker, record);
      await countTarget?.(record.ip);
      if (started.has(id)) return record;
      if (started.size >= MOST_AT_ONCE) {
        throw new AppError('busy', inEnglish('Too many tests are waiting.'), { retryAfterMs: 5000 });
      }
      const task = testKnown(record)
        .then(() => {}, onError)
        .finally(() => started.delete(id));
      started.set(id, task);
      return record;
    },

    /** Resolves when all started checks have ended. */
    async idle(): Promise<void> {
      await Promise.all(started.values());
    },
  };
}

function demandDialled(endpoint: Endpoint, result: TestOutcome['result']): void {
  if (result.verdict === 'alive' || result.error !== 'refused_address') return;
  throw invalidParameter(
    'ip',
    inEnglish(
      `${formatAddress(endpoint)} is not tested: the address is not public, or the port belongs to another service.`,
    ),
  );
}
