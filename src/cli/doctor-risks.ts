import { risksOf } from '../../adapters/open.ts';
import { within } from '../lib/deadline.ts';
import { credentialsOf } from '../start/credentials.ts';
import { storesInUse } from '../start/risks.ts';
import type { Finding, Patient } from './doctor-finding.ts';

const LIMIT_MS = 15_000;

const STATE = { broken: 'fail', loss: 'warn', unknown: 'warn' } as const;

/**
 * Asks the stores which of their settings can lose acknowledged changes. Stores that do not answer were reported
 * before.
 */
export async function checkRisks({ config, runtime }: Patient): Promise<Finding[]> {
  const options = { runtime, credentials: credentialsOf(config) };
  const answers = await Promise.all(
    storesInUse(config).map((url) => within(LIMIT_MS, risksOf(url, options)).catch(() => null)),
  );
  const findings = answers.flatMap((risks) =>
    (risks ?? []).map(({ kind, text, advice }): Finding => ({ state: STATE[kind], text, advice })),
  );
  if (findings.length > 0 || answers.includes(null)) return findings;
  return [{ state: 'ok', text: 'no store setting is known to lose acknowledged writes' }];
}
