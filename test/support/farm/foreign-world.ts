import type { CheckerOptions } from '../../../src/proxy/check/checker.ts';
import { createCertificates } from '../certificates.ts';
import { localChecker } from './checkers.ts';
import { startFarm } from './farm.ts';
import { type JudgeServerOptions, startJudge } from './judge-server.ts';
import { startWitness, type WitnessServerOptions } from './witness-server.ts';

export interface ForeignWorldOptions {
  /** Further options of the n-th judge of a kind, and of the n-th witness. */
  plain?: (n: number) => JudgeServerOptions;
  secure?: (n: number) => JudgeServerOptions;
  witness?: (n: number) => WitnessServerOptions;
}

/** What a balancer before httpbin adds. */
const TRACED = { balancer: () => ({ 'x-amzn-trace-id': `Root=1-${Math.random().toString(16).slice(2)}` }) };

const PLAIN: JudgeServerOptions[] = [
  { format: 'azenv', title: 'AZ Environment', path: '/azenv.php' },
  { format: 'azenv', title: 'Who asks?', path: '/asdfa/azenv.php' },
  { format: 'httpbin', path: '/get', ...TRACED },
];

const SECURE: JudgeServerOptions[] = [
  { format: 'trace', path: '/cdn-cgi/trace' },
  { format: 'address', path: '/' },
  { format: 'json', path: '/json' },
  { format: 'httpbin', path: '/get', ...TRACED },
  { format: 'azenv', title: 'AZ Environment', path: '/azenv.php' },
];

/** A farm among judges and witnesses that are all foreign: no answer is signed, and each has the form of a public page. */
export async function openForeignWorld(options: ForeignWorldOptions = {}) {
  const certificates = await createCertificates();
  const farm = await startFarm(certificates);
  const plain = await Promise.all(
    PLAIN.map((one, n) => startJudge({ ...one, host: `plain${n}.judge.test`, ...options.plain?.(n) })),
  );
  const secure = await Promise.all(
    SECURE.map((one, n) =>
      startJudge({ ...one, host: `secure${n}.judge.test`, tls: certificates.good, ...options.secure?.(n) }),
    ),
  );
  const witnesses = await Promise.all(
    [0, 1].map((n) => startWitness({ host: `witness${n}.test`, ...options.witness?.(n) })),
  );
  const found = {
    judges: [...plain, ...secure].map(({ url }) => url),
    witnesses: witnesses.map(({ url }) => url),
    ca: certificates.ca,
    resolve: async () => ['127.0.0.1'],
  };
  const checkers: ReturnType<typeof localChecker>[] = [];
  return {
    farm,
    /** Of plain HTTP. */
    plain,
    /** Of TLS. */
    secure,
    witnesses,
    /** What a checker needs to find them. */
    options: found,
    checker(own?: Partial<CheckerOptions>) {
      const checker = localChecker({ ...found, ...own });
      checkers.push(checker);
      return checker;
    },
    async close() {
      for (const checker of checkers) checker.close();
      await Promise.all([farm, ...plain, ...secure, ...witnesses].map((one) => one.stop()));
    },
  };
}
