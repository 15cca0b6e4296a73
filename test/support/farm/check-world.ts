import assert from 'node:assert/strict';
import { createCertificates } from '../certificates.ts';
import { localChecker } from './checkers.ts';
import { ROLES, type RoleName, startFarm } from './farm.ts';
import { startJudge } from './judge-server.ts';

const SECRET = 'shared by checker and judge';

/** A farm, judges of both kinds that prove their answers, and two checkers with a long and a short limit. */
export async function openCheckWorld() {
  const certificates = await createCertificates();
  const farm = await startFarm(certificates);
  const judges = [
    await startJudge({ secret: SECRET }),
    await startJudge({ secret: SECRET, tls: certificates.good, host: 'localhost' }),
  ];
  const options = {
    judges: judges.map(({ url }) => url),
    ca: certificates.ca,
    secrets: () => [SECRET],
    resolve: async () => ['127.0.0.1'],
  };
  const patient = localChecker(options);
  const hasty = localChecker({ ...options, timeoutMs: 1000 });
  // The limits of the checks begin when the judges are known.
  await Promise.all([patient.probe(), hasty.probe()]);
  return {
    farm,
    judges,
    patient,
    hasty,
    async close() {
      patient.close();
      hasty.close();
      await Promise.all([farm.stop(), ...judges.map((judge) => judge.stop())]);
    },
  };
}

export type CheckWorld = Awaited<ReturnType<typeof openCheckWorld>>;

/** The roles that need a judge; the instant ones play it themselves. */
export const CHECKED_ROLES = (Object.keys(ROLES) as RoleName[]).filter((name) => !name.startsWith('instant'));

/** Fails unless the role's first proxy gives the result in its table, and its socket is closed. */
export async function assertRole({ farm, patient, hasty }: CheckWorld, name: RoleName): Promise<void> {
  const { expected } = ROLES[name];
  const result = await (expected === 'timeout' ? hasty : patient).check(farm.endpoint(name));
  if (expected === 'alive') assert.equal(result.verdict, 'alive');
  else assert.deepEqual(result, { verdict: 'dead', error: expected });
  await farm.drained(name);
  const { accepted, open } = farm.stats(name);
  assert.equal(open, 0);
  // On a busy machine, a check that timed out is repeated.
  if (expected !== 'timeout') assert.equal(accepted, 1);
}
