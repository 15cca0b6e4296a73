import { accepts, type FieldsOf, namesOf } from '../lib/fields.ts';
import type { ProxyDraft } from './store.ts';

/**
 * The fields of a proxy as every store keeps them. A new field goes to the end, gives in `added` the value
 * for older records, and needs a step in `adapters/sqlite/schema.ts`.
 */
export const PROXY_FIELDS: FieldsOf<ProxyDraft> = {
  nextCheck: { kind: 'integer' },
  protocol: { kind: 'text' },
  ip: { kind: 'text' },
  port: { kind: 'integer' },
  status: { kind: 'text' },
  lastAlive: { kind: 'integer', nullable: true },
  firstSeen: { kind: 'integer' },
  country: { kind: 'text' },
  source: { kind: 'text' },
  responseMs: { kind: 'real', nullable: true },
  anonymity: { kind: 'text', nullable: true },
  exitIp: { kind: 'text', nullable: true },
  error: { kind: 'text', nullable: true },
  lastChecked: { kind: 'integer' },
  checks: { kind: 'integer' },
  successes: { kind: 'integer' },
  run: { kind: 'integer' },
  runSince: { kind: 'integer' },
  uptime: { kind: 'real' },
  uptimeWeight: { kind: 'real' },
  proof: { kind: 'text', nullable: true },
  tampering: { kind: 'text', nullable: true },
  reports: { kind: 'text', nullable: true },
  login: { kind: 'text', nullable: true },
  recent: { kind: 'integer', added: 1 },
};

const FIELDS = namesOf(PROXY_FIELDS).map((name) => ({ name, field: PROXY_FIELDS[name] }));

/** Returns the key of an endpoint in a store. */
export function endpointKey({ protocol, ip, port }: Pick<ProxyDraft, 'protocol' | 'ip' | 'port'>): string {
  return `${protocol}|${ip}|${port}`;
}

/** @throws {TypeError} if a field has a value of the wrong type. */
export function requireWhole(draft: ProxyDraft): void {
  for (const { name, field } of FIELDS) {
    if (accepts(field, draft[name])) continue;
    throw new TypeError(`${name} of ${endpointKey(draft)} cannot be ${draft[name]}`);
  }
}
