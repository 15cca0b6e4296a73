import { AppError, inEnglish } from '../../errors.ts';
import { csvRow } from '../../lib/csv.ts';
import { formatLogin } from '../login.ts';
import {
  type Dialled,
  formatAddress,
  formatAddressWithLogin,
  formatWithLogin,
  type ProxyFilter,
  type ProxyRecord,
  provenExit,
  type Sort,
} from '../proxy.ts';
import type { EXPORT_FORMATS } from '../queries.ts';
import type { ProxyStore } from '../store.ts';
import { proxyView } from '../views.ts';

type ExportFormat = (typeof EXPORT_FORMATS)[number];

export interface ExportQuery {
  filter: ProxyFilter;
  order: Sort | 'random';
  /** Number of matches to skip. */
  offset: number;
  limit: number;
  format: ExportFormat;
  remoteDns: boolean;
  /** Return only the first of the proxies with the same exit address. */
  uniqueExit: boolean;
  /** The matches in another order, which replaces `order`. */
  ranked?: AsyncIterable<ProxyRecord[]> | readonly ProxyRecord[][] | undefined;
  /** True for the administrator, who gets logins. Others get them masked. */
  logins: boolean;
}

/**
 * The schemes that clients know. An `https` proxy is addressed in plain HTTP: `https://` would mean TLS to
 * the proxy itself.
 */
const CLIENT_SCHEMES = { http: 'http', https: 'http', socks4: 'socks4', socks5: 'socks5' } as const;
const REMOTE_DNS_SCHEMES = { ...CLIENT_SCHEMES, socks4: 'socks4a', socks5: 'socks5h' } as const;

/**
 * Returns a proxy in the form that clients such as curl take. `remoteDns`: use the scheme that makes the
 * proxy resolve names.
 */
export function formatForClient({ protocol, login, tls, ...place }: Dialled, remoteDns = false): string {
  const schemes = remoteDns ? REMOTE_DNS_SCHEMES : CLIENT_SCHEMES;
  return `${tls ? 'https' : schemes[protocol]}://${login ? `${formatLogin(login)}@` : ''}${formatAddress(place)}`;
}

type LineFormat = 'standard' | 'text' | 'url';

/** Returns the lines of proxies in a line format, empty for duplicates. `logins`: as in `ExportQuery`. */
export function createLineFormat(
  format: LineFormat,
  { remoteDns, logins }: Pick<ExportQuery, 'remoteDns' | 'logins'>,
) {
  const seen = new Set<string>();
  return (found: Dialled): string => {
    const proxy = logins ? found : { ...found, login: null };
    if (format === 'standard') return `${formatWithLogin(proxy)}\n`;
    const text = format === 'text' ? formatAddressWithLogin(proxy) : formatForClient(proxy, remoteDns);
    // To a client, an address that is `http` and `https` is the same proxy.
    if (seen.has(text)) return '';
    seen.add(text);
    return `${text}\n`;
  };
}

/**
 * Returns the filter for what the caller may see. Lines of proxies that need a login are only for the administrator,
 * because they are useless without the login.
 * @throws {AppError} `unauthorized` if others ask only for these.
 */
export function visible(filter: ProxyFilter, format: ExportFormat, admin: boolean): ProxyFilter {
  if (admin || format === 'json' || format === 'csv') return filter;
  if (filter.login === true) {
    const message =
      'Lines with logins are for the administrator: they need the header Authorization: Bearer <ADMIN_TOKEN>.';
    throw new AppError('unauthorized', inEnglish(message));
  }
  return { ...filter, login: false };
}

/** Returns a filter that keeps only the first of the proxies with the same exit address, as far as that is proven. */
export function createExitFilter(): (record: ProxyRecord) => boolean {
  const seen = new Set<string>();
  return (record) => {
    const exit = provenExit(record) ?? record.ip;
    if (seen.has(exit)) return false;
    seen.add(exit);
    return true;
  };
}

/** Returns the matches, in chunks of some hundred. */
export async function* exportProxies(
  store: Pick<ProxyStore, 'endpoints' | 'stream'>,
  { filter, order, offset, limit, format, remoteDns, uniqueExit, ranked, logins }: ExportQuery,
): AsyncIterable<string> {
  const isWhole = format === 'csv' || format === 'json';
  const isFirst = uniqueExit ? createExitFilter() : () => true;
  const write = isWhole ? null : createLineFormat(format, { remoteDns, logins });
  let toSkip = offset;
  let left = limit;
  let count = 0;
  if (format === 'csv') yield csvRow(COLUMNS);
  if (format === 'json') yield '[';
  const needsRecords = isWhole || uniqueExit || logins || order !== 'dependable';
  const matches = ranked ?? (needsRecords ? store.stream(filter, order) : store.endpoints(filter));
  for await (const batch of matches) {
    if (left <= 0) break;
    const entries = uniqueExit ? (batch as ProxyRecord[]).filter(isFirst) : batch;
    // Duplicate lines count neither for the limit nor for the offset.
    const found = write ? entries.map(write).filter((line) => line !== '') : entries;
    const wanted = found.slice(toSkip, toSkip + left);
    toSkip = Math.max(0, toSkip - found.length);
    left -= wanted.length;
    const text = wanted
      .map((entry) => {
        if (typeof entry === 'string') return entry;
        const record = entry as ProxyRecord;
        const view = logins ? { ...proxyView(record), login: record.login } : proxyView(record);
        if (format === 'csv') return csvRow(COLUMNS.map((column) => view[column]));
        return `${count++ === 0 ? '\n' : ',\n'}${JSON.stringify(view)}`;
      })
      .join('');
    if (text !== '') yield text;
  }
  if (format === 'json') yield '\n]\n';
}

/** The columns of CSV that a check of a proxy fills; an export of the pool has more. */
export const CHECK_COLUMNS = [
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

type View = ReturnType<typeof proxyView>;
const COLUMNS = [
  ...CHECK_COLUMNS,
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
  'login',
] as const satisfies readonly (keyof View)[];
