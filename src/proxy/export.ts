import {
  type Endpoint,
  formatAddress,
  formatUrl,
  type ProxyFilter,
  type ProxyRecord,
  type Sort,
} from './proxy.ts';
import type { EXPORT_FORMATS } from './queries.ts';
import type { ProxyStore } from './store.ts';
import { proxyView } from './views.ts';

export type ExportFormat = (typeof EXPORT_FORMATS)[number];

export interface ExportQuery {
  filter: ProxyFilter;
  order: Sort | 'random';
  /** Matches to leave out at the start. */
  offset: number;
  /** Most entries. */
  limit: number;
  format: ExportFormat;
  remoteDns: boolean;
  /** Of those with one exit address only the first. */
  uniqueExit: boolean;
  /** The matches in another order, which counts instead of `order`. */
  ranked?: AsyncIterable<ProxyRecord[]> | undefined;
}

/** The schemes that clients know. An `https` proxy is spoken to in plain HTTP: `https://` would mean TLS to it. */
const CLIENT_SCHEMES = { http: 'http', https: 'http', socks4: 'socks4', socks5: 'socks5' } as const;
const REMOTE_DNS_SCHEMES = { ...CLIENT_SCHEMES, socks4: 'socks4a', socks5: 'socks5h' } as const;

/** A proxy as clients such as curl take it. `remoteDns`: with the scheme by which the proxy looks names up. */
export function formatForClient(endpoint: Endpoint, remoteDns: boolean): string {
  const schemes = remoteDns ? REMOTE_DNS_SCHEMES : CLIENT_SCHEMES;
  return `${schemes[endpoint.protocol]}://${formatAddress(endpoint)}`;
}

/** The lines of proxies in one of the forms that have lines; none comes twice. */
export function createLineFormat(format: 'standard' | 'text' | 'url', remoteDns: boolean) {
  const seen = new Set<string>();
  return (endpoint: Endpoint): string => {
    if (format === 'standard') return `${formatUrl(endpoint)}\n`;
    if (format === 'text') return `${formatAddress(endpoint)}\n`;
    const line = `${formatForClient(endpoint, remoteDns)}\n`;
    // One address that is `http` and `https` is the same proxy to a client.
    if (endpoint.protocol.startsWith('http')) {
      if (seen.has(line)) return '';
      seen.add(line);
    }
    return line;
  };
}

/** Leaves of those with one exit address only the first. */
export function createExitFilter(): (record: ProxyRecord) => boolean {
  const seen = new Set<string>();
  return ({ exitIp, ip }) => {
    const exit = exitIp ?? ip;
    if (seen.has(exit)) return false;
    seen.add(exit);
    return true;
  };
}

/** The matches, in pieces of some hundred. */
export async function* exportProxies(
  store: Pick<ProxyStore, 'endpoints' | 'lookup'>,
  { filter, order, offset, limit, format, remoteDns, uniqueExit, ranked }: ExportQuery,
): AsyncIterable<string> {
  const isWhole = format === 'csv' || format === 'json';
  const isFirst = uniqueExit ? createExitFilter() : () => true;
  const write = isWhole ? null : createLineFormat(format, remoteDns);
  let toSkip = offset;
  let left = limit;
  let count = 0;
  if (format === 'csv') yield `${COLUMNS.join(',')}\n`;
  if (format === 'json') yield '[';
  for await (const batch of ranked ?? store.endpoints(filter, order)) {
    if (left <= 0) break;
    const entries = isWhole || uniqueExit ? (await wholeOf(batch)).filter(isFirst) : batch;
    const wanted = entries.slice(toSkip, toSkip + left);
    toSkip = Math.max(0, toSkip - entries.length);
    left -= wanted.length;
    const text = wanted
      .map((entry) => {
        if (write) return write(entry);
        const record = entry as ProxyRecord;
        if (format === 'csv') return csvRow(record);
        return `${count++ === 0 ? '\n' : ',\n'}${JSON.stringify(proxyView(record))}`;
      })
      .join('');
    if (text !== '') yield text;
  }
  if (format === 'json') yield '\n]\n';

  async function wholeOf(batch: readonly Endpoint[]): Promise<readonly ProxyRecord[]> {
    if (ranked) return batch as readonly ProxyRecord[];
    const records = new Map((await store.lookup(batch)).map((record) => [formatUrl(record), record]));
    return batch.flatMap((endpoint) => records.get(formatUrl(endpoint)) ?? []);
  }
}

type View = ReturnType<typeof proxyView>;
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
  'uptime',
  'score',
  'checks',
  'successes',
  'first_seen',
  'last_checked',
  'last_alive',
  'status',
  'source',
  'id',
] as const satisfies readonly (keyof View)[];

function csvRow(record: ProxyRecord): string {
  const view = proxyView(record);
  return `${COLUMNS.map((column) => cell(view[column])).join(',')}\n`;
}

/** A leading apostrophe keeps spreadsheets from running what a list chose as its name. */
function cell(value: View[keyof View]): string {
  const text = Array.isArray(value) ? value.join(' ') : String(value ?? '');
  const safe = typeof value === 'string' && /^[=+@-]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
