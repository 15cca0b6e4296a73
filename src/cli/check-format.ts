import { csvRow } from '../lib/csv.ts';
import type { CountryOf } from '../proxy/pool/country.ts';
import { CHECK_COLUMNS, formatForClient } from '../proxy/pool/export.ts';
import { type CheckResult, type Dialled, formatAddressWithLogin, formatWithLogin } from '../proxy/proxy.ts';

export const CHECK_FORMATS = ['standard', 'text', 'url', 'json', 'csv'] as const;
type CheckFormat = (typeof CHECK_FORMATS)[number];

type Alive = Extract<CheckResult, { verdict: 'alive' }>;

const COLUMNS = [...CHECK_COLUMNS, 'login'] as const;

export const csvHeader = csvRow(COLUMNS);

/** Creates a function that formats a working proxy as a line. The fields have the names of the API. */
export async function createResultWriter(
  format: CheckFormat,
  countryDb: string | undefined,
): Promise<(endpoint: Dialled, result: Alive) => string> {
  if (format === 'standard') return (endpoint) => `${formatWithLogin(endpoint)}\n`;
  if (format === 'text') return (endpoint) => `${formatAddressWithLogin(endpoint)}\n`;
  if (format === 'url') return (endpoint) => `${formatForClient(endpoint)}\n`;
  const { openCountries } = await import('../proxy/pool/country.ts');
  const countryOf = await openCountries(countryDb);
  if (format === 'json') return (...found) => `${JSON.stringify(factsOf(...found, countryOf))}\n`;
  return (...found) => {
    const facts = factsOf(...found, countryOf);
    return csvRow(COLUMNS.map((column) => facts[column]));
  };
}

function factsOf(
  { protocol, ip, port, login = null, tls = null }: Dialled,
  result: Alive,
  countryOf: CountryOf,
) {
  return {
    protocol,
    ip,
    port,
    country: countryOf(result.exitIp),
    response_time: Math.max(1, Math.round(result.totalMs)),
    anonymity: result.anonymity,
    exit_ip: result.exitIp,
    tampering: result.tampering,
    proof: result.proof,
    login,
    tls,
  };
}
