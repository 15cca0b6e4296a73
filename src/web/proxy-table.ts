import { flag } from './flags.ts';
import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import { pagination } from './pagination.ts';
import type { LinkTo } from './proxy-links.ts';
import type { Site } from './site.ts';
import { uptimeBar } from './uptime-bar.ts';
import { wordFor } from './word-for.ts';
import type { Words } from './words/en.ts';

export interface ProxyRow {
  id: number;
  /** `203.0.113.9:8080`. */
  address: string;
  protocol: string;
  country: string;
  /** `null`: never alive. */
  responseMs: number | null;
  anonymity: string | null;
  /** What proved that it works. */
  proof: string | null;
  /** True if it asks for a login: only the administrator gets its line. */
  login: boolean;
  /** Known share of time alive; `null` until enough is known. */
  uptime: number | null;
  /** The latest checks, oldest first: `1` passed, `0` failed. */
  recent: string;
  alive: boolean;
  /** Why it is dead. */
  error: string | null;
  /** Ms since 1970. */
  lastChecked: number;
}

export interface ProxyList {
  /** Paths of the page itself and of the API. */
  path: string;
  basePath: string;
  rows: readonly ProxyRow[];
  total: number;
  page: number;
  pages: number;
  /** The filters of the list, by their names on the page and in the API. */
  values: Readonly<Record<string, string>>;
  exported: Readonly<Record<string, string>>;
  /** Whether these matches can be exported: exports contain only working proxies. */
  exportable: boolean;
  sort: string;
  linkTo: LinkTo;
  now: number;
  /** True if the whole pool is empty. */
  poolEmpty: boolean;
}

type ProxyWords = Words['proxies'];

/** Lists and code, as in the menu. */
const FORMATS = {
  lists: ['standard', 'text', 'url', 'csv', 'json'],
  code: ['curl', 'python', 'node', 'scrapy', 'playwright'],
} as const;
/** Maximum number copied at once. */
const MOST_COPIED = 500;

/** Renders the matches, with the actions on them. */
export function proxyResults(site: Site, list: ProxyList): Html {
  const { rows, page, pages, linkTo } = list;
  const href = (to: number) => linkTo({ page: to === 1 ? null : String(to) }, 'list');
  return html`${copyBar(site, list)}
${rows.length > 0 ? table(site, list) : nothing(site, list)}
${pagination(site, { page, pages, href })}`;
}

function copyBar({ words: { proxies: words }, formats }: Site, list: ProxyList): Html {
  const { path, basePath, total, values, exported, exportable } = list;
  const label = total > MOST_COPIED ? words.copyFirst(formats.number(MOST_COPIED)) : words.copyAll;
  const options = (group: keyof typeof FORMATS) =>
    html`<optgroup label="${words[group]}">${FORMATS[group].map((format) => html`<option value="${format}">${words.formats[format]}</option>`)}</optgroup>`;
  return html`<form id="copying" class="list-bar" action="${path}/copy">
<p><strong data-summary>${formats.plural(total, words.matches)}</strong> <button class="link" type="button" data-reload hidden>${words.showUpdated}</button></p>
${Object.entries(values).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}<p class="actions">
<select name="as" aria-label="${words.copyAs}">${options('lists')}${options('code')}</select>
<button class="copy" data-copy-matches="${label}"${total === 0 && html` disabled`}>${icon('copy')}<span>${label}</span></button>
${exportable && html`<a class="button quiet small" href="${basePath}/api/export?${new URLSearchParams(exported).toString()}">${icon('download')}<span>${words.download}</span></a>`}
</p>
</form>
<p id="copy-note" class="notice" role="alert" hidden></p>
<form id="testing" method="post" action="${path}/test"></form>`;
}

function nothing({ words: { proxies: words } }: Site, { poolEmpty, total, path, linkTo }: ProxyList): Html {
  if (poolEmpty) return html`<p class="empty">${icon('globe')}${words.empty}</p>`;
  if (total > 0)
    return html`<p class="empty">${words.pastEnd} <a href="${linkTo({ page: null })}">${words.goToFirst}</a></p>`;
  return html`<p class="empty">${icon('search')}${words.noMatch} <a href="${path}">${words.showAll}</a></p>`;
}

function table(site: Site, list: ProxyList): Html {
  const { words } = site;
  const { proxies } = words;
  const heading = (sort: string, label: string, natural: 'ascending' | 'descending') => {
    const opposite = natural === 'ascending' ? 'descending' : 'ascending';
    const order = list.sort === sort ? natural : list.sort === `-${sort}` ? opposite : null;
    const next = list.sort === sort ? `-${sort}` : sort;
    const href = list.linkTo({ sort: next === 'dependable' ? null : next, page: null }, 'list');
    return html`<th scope="col" class="number-cell"${order !== null && html` aria-sort="${order}"`}><a href="${href}" data-sort="${sort}">${label}</a></th>`;
  };
  return html`<div class="table-wrap"><table class="proxies">
<caption class="visually-hidden">${proxies.title}</caption>
<thead><tr><th scope="col" class="select-cell"><input type="checkbox" class="needs-script" data-select-all aria-label="${proxies.selectAll}"></th><th scope="col">${proxies.address}</th><th scope="col">${proxies.protocol}</th><th scope="col">${proxies.country}</th>${heading('response_time', proxies.latency, 'ascending')}${heading('dependable', proxies.uptime, 'descending')}${heading('last_checked', proxies.tested, 'descending')}<th scope="col"><span class="visually-hidden">${proxies.actions}</span></th></tr></thead>
<tbody>
${list.rows.map((row) => rowOf(site, row, list.now))}</tbody>
</table></div>`;
}

function rowOf(site: Site, row: ProxyRow, now: number): Html {
  const { words, formats } = site;
  const { proxies, frame } = words;
  const { id, address, login } = row;
  return html`<tr id="p-${id}" data-id="${id}"${!row.alive && html` class="dead"`}>
<td class="select-cell"><input type="checkbox" name="id" value="${id}" form="copying" aria-label="${proxies.select(address)}"></td>
<th scope="row" class="address">${address}${login && html` <span class="pill" title="${proxies.loginMeans}">${proxies.login}</span>`}</th>
<td class="kind">${kindOf(proxies, row)}</td>
<td class="country">${placeOf(site, row.country)}</td>
<td class="number-cell latency">${latencyOf(site, row)}</td>
<td class="number-cell uptime">${uptimeBar(site, row.recent)}<span class="percent">${row.uptime === null ? '–' : formats.percent(Math.round(row.uptime * 100) / 100)}</span></td>
<td class="number-cell tested">${formats.age(now - row.lastChecked)}</td>
<td class="row-end"><div class="row-actions">${!login && html`<button class="copy needs-script" type="button" data-copy-row="${id}" aria-label="${proxies.copyWhat(address)}"><span>${frame.copy}</span></button>`}<button class="quiet small" form="testing" name="id" value="${id}" aria-label="${proxies.testWhat(address)}">${proxies.test}</button></div></td>
</tr>
`;
}

function kindOf(words: ProxyWords, { protocol, anonymity, proof }: ProxyRow): Html {
  const means = wordFor(words.proofMeans, proof ?? '');
  const proven =
    proof === 'echoed' ? html` <span class="pill warn" title="${means}">${words.proofs.echoed}</span>` : null;
  return html`<span class="pill"${proof !== null && html` title="${means}"`}>${protocol}</span>${anonymity !== null && html` <span class="muted small anonymity" title="${wordFor(words.anonymityMeans, anonymity)}">${wordFor(words.anonymities, anonymity)}</span>`}${proven}`;
}

/** Renders a country with its flag; `ZZ` has none. */
function placeOf({ words, formats }: Site, country: string): Html {
  if (country === 'ZZ') return html`<span class="muted">${words.proxies.unknownCountry}</span>`;
  const name = formats.country(country);
  return html`${flag(country)} <span class="country-name" title="${name}">${name}</span>`;
}

function latencyOf({ words: { proxies }, formats }: Site, { alive, responseMs, error }: ProxyRow): Html {
  if (alive) return html`${formats.number(Math.round(responseMs ?? 0))} <small>ms</small>`;
  return html`<span class="pill bad">${wordFor(proxies.errors, error ?? 'dead')}</span>`;
}
