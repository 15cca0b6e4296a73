import { createLineFormat } from '../pool/export.ts';
import { PROTOCOLS, type Protocol, type ProxyRecord } from '../proxy.ts';
import { EXPORT_FORMATS, type ListQuery } from '../queries.ts';
import { CODE_FORMATS, type CodeFormat, codeFor, SPEAKS } from './code-samples.ts';

/** Formats in which proxies can be copied: lines, records, or code that uses them. */
export const COPY_FORMATS = [...EXPORT_FORMATS, ...CODE_FORMATS] as const;
export type CopyFormat = (typeof COPY_FORMATS)[number];

export const isCode = (format: CopyFormat): format is CodeFormat =>
  CODE_FORMATS.some((code) => code === format);

/** Maximum number of proxies that code tries. */
const TRIES = 20;

/** Playwright resolves names at SOCKS proxies anyway, and rejects the schemes that ask for it. */
const hasRemoteDns = (format: CodeFormat) => format === 'curl' || format === 'python';

/** Returns a page that every proxy of these protocols can reach: plain `http` proxies reach nothing over TLS. */
function targetFor(protocols: readonly Protocol[]): string {
  return protocols.includes('http') ? 'http://example.com/' : 'https://example.com/';
}

/**
 * Returns the protocols that the program supports, without plain `http` if there are others, because it reaches less.
 */
function usable(format: CodeFormat, protocols: readonly Protocol[]): readonly Protocol[] {
  const spoken = SPEAKS[format].filter((one) => protocols.includes(one));
  const tunnels = spoken.filter((one) => one !== 'http');
  return tunnels.length > 0 ? tunnels : spoken;
}

/** Returns code that uses these proxies, or `null` if the program supports none of them. */
export function codeWith(
  format: CodeFormat,
  records: readonly ProxyRecord[],
  logins: boolean,
): string | null {
  const protocols = usable(format, [...new Set(records.map(({ protocol }) => protocol))]);
  const used = records.filter(({ protocol }) => protocols.includes(protocol));
  if (used.length === 0) return null;
  const write = createLineFormat('url', { remoteDns: hasRemoteDns(format), logins });
  const urls = used.map((record) => write(record).trim()).filter((line) => line !== '');
  return codeFor(format, { urls }, targetFor(protocols));
}

/**
 * Returns code that fetches the matches of a filter again on each run, or `null` if the program supports none
 * of them. `api`: URL of the list in the API.
 */
export function codeFetching(format: CodeFormat, api: string, filter: Partial<ListQuery>): string | null {
  const wanted = filter.protocol === undefined ? PROTOCOLS : (filter.protocol.split(',') as Protocol[]);
  const protocols = usable(format, wanted);
  if (protocols.length === 0) return null;
  const query = new URLSearchParams({
    ...Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, String(value)])),
    protocol: protocols.join(','),
    format: 'url',
    ...(hasRemoteDns(format) && { remote_dns: 'true' }),
    limit: String(TRIES),
  });
  // Commas need no escaping, and are easier to read and edit.
  const list = `${api}?${query.toString().replaceAll('%2C', ',')}`;
  return codeFor(format, { list }, targetFor(protocols));
}
