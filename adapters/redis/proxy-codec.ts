import type { ProxyRecord } from '../../src/proxy/proxy.ts';
import type { ProxyDraft } from '../../src/proxy/store.ts';

const isText = (value: unknown) => typeof value === 'string';
const isInteger = Number.isSafeInteger;
const isNumber = Number.isFinite;
const orNull = (accepts: (value: unknown) => boolean) => (value: unknown) => value === null || accepts(value);

/**
 * A proxy is stored as a JSON array of its fields in this order, a third of the size of an object. The scripts
 * count on the places of the first ones (from 1): next check, protocol, address, port, status, last alive, first seen.
 */
const ACCEPTS: Record<keyof ProxyDraft, (value: unknown) => boolean> = {
  nextCheck: isInteger,
  protocol: isText,
  ip: isText,
  port: isInteger,
  status: isText,
  lastAlive: orNull(isInteger),
  firstSeen: isInteger,
  country: isText,
  source: isText,
  responseMs: orNull(isNumber),
  anonymity: orNull(isText),
  exitIp: orNull(isText),
  error: orNull(isText),
  lastChecked: isInteger,
  checks: isInteger,
  successes: isInteger,
  run: isInteger,
  runSince: isInteger,
  uptime: isNumber,
  uptimeWeight: isNumber,
};
const FIELDS = Object.keys(ACCEPTS) as (keyof ProxyDraft)[];

/**
 * The draft as it is stored.
 * @throws {TypeError} where a field has no value of its kind: one such record would stop the replicas of all copies.
 */
export function encodeProxy(draft: ProxyDraft): string {
  const wrong = FIELDS.find((field) => !ACCEPTS[field](draft[field]));
  if (wrong) throw new TypeError(`${wrong} of ${endpointKey(draft)} cannot be ${draft[wrong]}`);
  return JSON.stringify(FIELDS.map((field) => draft[field]));
}

export function decodeProxy(id: string, text: string): ProxyRecord {
  const values = JSON.parse(text) as unknown[];
  const record: Record<string, unknown> = { id: Number(id) };
  for (let index = 0; index < FIELDS.length; index++) record[FIELDS[index] ?? ''] = values[index];
  return record as unknown as ProxyRecord;
}

/** The field under which the id of an endpoint is found. */
export function endpointKey({ protocol, ip, port }: Pick<ProxyDraft, 'protocol' | 'ip' | 'port'>): string {
  return `${protocol}|${ip}|${port}`;
}
