import { AppError, inEnglish } from '../../errors.ts';
import type { Clock } from '../../lib/clock.ts';
import { createShares } from '../../lib/shares.ts';
import type { CheckResult, Endpoint } from '../proxy.ts';
import type { Checker, JudgeState } from './checker.ts';
import { schemeFor } from './judges.ts';

export type BlindResult =
  | Extract<CheckResult, { verdict: 'alive' }>
  | { verdict: 'dead'; error: 'not_working' | 'refused_address' };

interface BlindTestOptions {
  /** Must not count its checks anywhere that clients can see: the reasons for failures have to stay secret. */
  checker: Pick<Checker, 'check' | 'refuses' | 'judges' | 'probe'>;
  clock: Pick<Clock, 'sleep'>;
  signal: AbortSignal;
}

const ANSWER_MS = 5000;
const MOST_PER_CLIENT = 3;
const JUDGE_RETRY_MS = 30_000;

/** The error for the time in which nothing can be learnt about any proxy. */
export function noJudge(): AppError {
  return new AppError(
    'unavailable',
    inEnglish('No judge responds at the moment, so proxies cannot be tested.'),
    { retryAfterMs: JUDGE_RETRY_MS },
  );
}

/** Rejects with `noJudge` unless a judge for the protocol answers. */
export async function demandJudge(
  checker: Pick<Checker, 'judges' | 'probe'>,
  { protocol }: Endpoint,
): Promise<void> {
  const isUp = ({ schemes }: JudgeState) => schemes[schemeFor(protocol, schemes.https !== 'none')] === 'up';
  if (!isUp(checker.judges()) && !isUp(await checker.probe())) throw noJudge();
}

/** Checks once more if nothing was found out although a judge answers: by then it is known which witnesses have failed. */
export async function checkPatiently(
  checker: Pick<Checker, 'check' | 'judges'>,
  ...asked: Parameters<Checker['check']>
): Promise<CheckResult> {
  const result = await checker.check(...asked);
  return result.verdict === 'unknown' && checker.judges().state === 'up' ? checker.check(...asked) : result;
}

/**
 * Tests an address for an untrusted client, who learns only whether it is a working proxy. Everything else
 * gives the same answer after the same time, whether the port is closed, silent or another service.
 */
export type BlindTest = ReturnType<typeof createBlindTest>;

export function createBlindTest({ checker, clock, signal }: BlindTestOptions) {
  const shares = createShares({
    each: MOST_PER_CLIENT,
    fullMessage: inEnglish(`At most ${MOST_PER_CLIENT} tests per client run at once.`),
    retryAfterMs: ANSWER_MS,
  });

  async function checkFor5Seconds(endpoint: Endpoint): Promise<BlindResult> {
    const over = new AbortController();
    const end = clock.sleep(ANSWER_MS, signal).finally(() => over.abort());
    const notWorking = end.then(
      (): BlindResult => ({ verdict: 'dead', error: 'not_working' }),
      () => {
        throw new AppError('unavailable', 'The server is stopping.');
      },
    );
    const checked = checkPatiently(checker, endpoint, over.signal);
    const told = checked.then((result) => (result.verdict === 'alive' ? result : notWorking));
    return Promise.race([told, notWorking]);
  }

  /**
   * Checks the endpoint now, for the client `payer`. Resolves with `not_working` exactly 5 s after the start unless
   * the proxy has passed by then, and with `refused_address` at once. Rejects with `rate_limited` while 3 tests of
   * this client run, and with `unavailable` while no judge for its protocol answers or the server stops.
   */
  return async (endpoint: Endpoint, payer: string): Promise<BlindResult> => {
    if (checker.refuses(endpoint)) return { verdict: 'dead', error: 'refused_address' };
    const leave = shares.enter(payer);
    try {
      // Before the address is dialled, because only some addresses take a check as far as the judges.
      await demandJudge(checker, endpoint);
      return await checkFor5Seconds(endpoint);
    } finally {
      leave();
    }
  };
}
