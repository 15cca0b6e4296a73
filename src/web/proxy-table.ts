import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import { pagination } from './pagination.ts';
import type { FilterValues } from './proxy-filters.ts';
import type { Site } from './site.ts';
import { counted, countryName, readableAge, readableNumber } from './words.ts';

export interface ProxyRow {
  id: number;
  ip: string;
  port: number;
  protocol: string;
  /** `203.0.113.9:8080` and `http://203.0.113.9:8080`. */
  address: string;
  url: string;
  country: string;
  /** `null`: never alive. */
  responseMs: number | null;
  anonymity: string | null;
  /** How it was proven to work. */
  proof: string | null;
  /** It asks for a login: only the administrator gets a line of it. */
  login: boolean;
  /** Share of time known alive; `null` before enough is known. */
  uptime: number | null;
  alive: boolean;
  /** Why it is dead. */
  error: string | null;
  /** Ms since 1970. */
  lastChecked: number;
}

export interface ProxyList {
  /** Of the page itself and of the interface for programs. */
  path: string;
  basePath: string;
  rows: readonly ProxyRow[];
  total: number;
  page: number;
  pages: number;
  values: FilterValues;
  now: number;
  /** True where the pool has nothing at all. */
  poolEmpty: boolean;
}

/** What each proof means, the strongest first. */
export const PROOF_WORDS: Readonly<Record<string, string>> = {
  tls: 'A page came through it over TLS with a verified certificate',
  signed: 'It brought a signed answer of our own judge',
  relayed: 'It brought a part of a file that it could not know',
  echoed: 'It showed a page that it could have made up',
};

/** The matches, with what can be done to them. */
export function proxyResults(site: Site, list: ProxyList): Html {
  const { basePath, total, page, pages, rows, values } = list;
  const query = (changes: Record<string, string>) => {
    const all = Object.entries({ ...values, ...changes }).filter(([, value]) => value !== '');
    return new URLSearchParams(all).toString();
  };
  const lines = `${basePath}/api/v1/proxies?${query({ format: 'standard', limit: '500' })}`;
  const { status, sort: _, ...exported } = values;
  return html`<div class="section-head">
<p><strong data-summary>${counted(total, 'proxy matches', 'proxies match')}</strong></p>
<p class="actions">
<button class="copy needs-script" type="button" data-copy-lines="${lines}"${total === 0 && html` disabled`}>${icon('copy')}<span>${total > 500 ? 'Copy the first 500' : 'Copy all'}</span></button>
${status !== 'dead' && html`<a class="button quiet small" href="${basePath}/api/export?${new URLSearchParams(exported).toString()}">${icon('download')}Download</a>`}
</p>
</div>
${rows.length > 0 ? table(list, query) : nothing(list)}
${pagination(site, { page, pages, href: (to) => `${list.path}?${query({ page: String(to) })}` })}`;
}

function nothing({ poolEmpty, total, path }: ProxyList): Html {
  if (poolEmpty)
    return html`<p class="empty">${icon('globe')}No proxy is known yet. The first refresh fetches and proves them; that takes minutes.</p>`;
  if (total > 0) return html`<p class="empty">There are not so many pages.</p>`;
  return html`<p class="empty">${icon('search')}No proxy fits all filters. <a href="${path}">Show all</a></p>`;
}

function table(
  { rows, path, values, now }: ProxyList,
  query: (changes: Record<string, string>) => string,
): Html {
  const sorted = (name: string, label: string, order: 'ascending' | 'descending') => {
    const current = (values.sort ?? 'dependable') === name;
    const href = `${path}?${query({ sort: name })}`;
    return html`<th scope="col" class="number-cell"${current && html` aria-sort="${order}"`}><a href="${href}">${label}</a></th>`;
  };
  return html`<div class="table-wrap"><table class="proxies">
<caption class="visually-hidden">Proxies</caption>
<thead><tr><th scope="col">Address</th><th scope="col">Protocol</th><th scope="col">Country</th><th scope="col">Anonymity</th><th scope="col">Proof</th>${sorted('response_time', 'Response', 'ascending')}${sorted('dependable', 'Uptime', 'descending')}${sorted('last_checked', 'Checked', 'descending')}<th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
<tbody>
${rows.map((row) => rowOf(row, now))}</tbody>
</table></div>`;
}

function rowOf(row: ProxyRow, now: number): Html {
  const { id, ip, port, protocol, address, url, country, anonymity, proof, login } = row;
  const { responseMs, uptime, alive, error } = row;
  const reason = error?.replaceAll('_', ' ') ?? 'dead';
  return html`<tr>
<th scope="row" class="address">${address}${login && html` <span class="tag" title="It asks for a login, which only the administrator is told">login</span>`}</th>
<td><span class="tag">${protocol}</span></td>
<td title="${countryName(country)}">${country === 'ZZ' ? '–' : country}</td>
<td class="wide-only">${anonymity ?? '–'}</td>
<td class="wide-only" title="${PROOF_WORDS[proof ?? ''] ?? 'Not known yet'}">${proof === 'echoed' ? html`<span class="tag bad">echoed</span>` : (proof ?? '–')}</td>
<td class="number-cell">${alive ? `${readableNumber(Math.round(responseMs ?? 0))} ms` : html`<span class="tag bad">${reason}</span>`}</td>
<td class="number-cell">${uptime === null ? '–' : `${Math.round(uptime * 100)} %`}</td>
<td class="number-cell wide-only">${readableAge(now - row.lastChecked)}</td>
<td class="row-end"><div class="row-actions needs-script"><span class="result" role="status"></span>${!login && html`<button class="copy" type="button" data-copy="${url}" aria-label="Copy ${address}"><span>Copy</span></button>`}<button class="quiet" type="button" data-test="${JSON.stringify({ ip, port, protocol, proxy_id: id })}" aria-label="Test now: ${address}">Test now</button></div></td>
</tr>
`;
}
