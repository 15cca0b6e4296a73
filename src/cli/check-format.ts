import type { CountryOf } from '../proxy/country.ts';
import { type CheckResult, type Endpoint, formatAddress, formatUrl } from '../proxy/proxy.ts';

export const CHECK_FORMATS = ['standard', 'text', 'json', 'csv'] as const;
export type CheckFormat = (typeof CHECK_FORMATS)[number];

type Alive = Extract<CheckResult, { verdict: 'alive' }>;

const COLUMNS = [
  'protocol',
  'ip',
  'port',
  'country',
  'response_time',
  'anonymity',
  'exit_ip',
  'tampering',
  'proof',
] as const;

export const csvHeader = `${COLUMNS.join(',')}\n`;

/** How a living proxy is written, with the end of the line. The fields have the names of the server's answers. */
export async function createResultWriter(
  format: CheckFormat,
  countryDb: string | undefined,
): Promise<(endpoint: Endpoint, result: Alive) => string> {
  if (format === 'standard') return (endpoint) => `${formatUrl(endpoint)}\n`;
  if (format === 'text') return (endpoint) => `${formatAddress(endpoint)}\n`;
  const { openCountries } = await import('../proxy/country.ts');
  const countryOf = await openCountries(countryDb);
  if (format === 'json') return (...found) => `${JSON.stringify(factsOf(...found, countryOf))}\n`;
  return (...found) => {
    const { tampering, ...facts } = factsOf(...found, countryOf);
    const row: Record<string, unknown> = { ...facts, tampering: tampering.join(' ') };
    return `${COLUMNS.map((column) => cell(row[column])).join(',')}\n`;
  };
}

function factsOf({ protocol, ip, port }: Endpoint, result: Alive, countryOf: CountryOf) {
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
  };
}

function cell(value: unknown): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
