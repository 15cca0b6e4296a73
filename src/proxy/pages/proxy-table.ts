import { type Html, html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import type { Site } from '../../web/site.ts';
import { pagination } from '../../web/snippet.ts';
import { wordFor } from '../../web/words/formats.ts';
import type { Words } from '../../web/words/words.ts';
import { recentChecks, uptimeOf } from '../pool/history.ts';
import { formatAddress, type ProxyRecord } from '../proxy.ts';
import { EXPORT_FORMATS } from '../queries.ts';
import { flag } from './flags.ts';
import { type Listing, orderOf, PER_PAGE, parametersOf } from './page-query.ts';

type ProxyWords = Words['proxies'];

export const MOST_COPIED = 500;

/** Renders the matches, with the actions on them. */
export function proxyResults(site: Site, list: Listing): Html {
  const { rows, total, linkTo } = list;
  const { page } = list.query;
  const pages = Math.ceil(total / PER_PAGE);
  const href = (to: number) => linkTo({ page: to === 1 ? null : String(to) }, 'list');
  return html`${copyBar(site, list)}
${rows.length > 0 ? table(site, list) : nothing(site, list)}
${pagination(site, { page, pages, href })}`;
}

function copyBar({ words: { proxies: words }, formats }: Site, list: Listing): Html {
  const { path, basePath, total, query } = list;
  const { status, ...filter } = query.filter;
  const exported = Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, String(value)]));
  // Exports contain only working proxies.
  const exportable = status !== 'dead' && query.ids === null;
  const values = query.ids === null ? parametersOf(query) : { id: query.ids.join(',') };
  const label = total > MOST_COPIED ? words.copyFirst(formats.number(MOST_COPIED)) : words.copyAll;
  return html`<form id="copying" class="list-bar" action="${path}/copy">
<p><strong data-summary>${formats.plural(total, words.matches)}</strong> <button class="link" type="button" data-reload hidden>${words.showUpdated}</button></p>
${Object.entries(values).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}<p class="actions">
<select name="as" aria-label="${words.copyAs}">${EXPORT_FORMATS.map((format) => html`<option value="${format}">${words.formats[format]}</option>`)}</select>
<button class="copy" data-copy-matches="${label}"${total === 0 && html` disabled`}>${icon('copy')}<span>${label}</span></button>
${exportable && html`<a class="button quiet small" href="${basePath}/api/export?${new URLSearchParams(exported).toString()}">${icon('download')}<span>${words.download}</span></a>`}
</p>
</form>
<p id="copy-note" class="fault small" role="alert" hidden></p>
<form id="testing" method="post" action="${path}/test"></form>`;
}

function nothing({ words: { proxies: words } }: Site, { poolEmpty, total, path, linkTo }: Listing): Html {
  if (poolEmpty) return html`<p class="empty">${icon('globe')}${words.empty}</p>`;
  if (total > 0)
    return html`<p class="empty">${words.pastEnd} <a href="${linkTo({ page: null })}">${words.goToFirst}</a></p>`;
  return html`<p class="empty">${icon('search')}${words.noMatch} <a href="${path}">${words.showAll}</a></p>`;
}

function table(site: Site, list: Listing): Html {
  const { proxies } = site.words;
  const current = orderOf(list.query);
  const heading = (sort: string, label: string, natural: 'ascending' | 'descending') => {
    const opposite = natural === 'ascending' ? 'descending' : 'ascending';
    const order = current === sort ? natural : current === `-${sort}` ? opposite : null;
    const next = current === sort ? `-${sort}` : sort;
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

function rowOf(site: Site, row: ProxyRecord, now: number): Html {
  const { words, formats } = site;
  const { proxies, frame } = words;
  const { id } = row;
  const address = formatAddress(row);
  const uptime = uptimeOf(row);
  // Only the administrator gets its line.
  const asksLogin = row.login !== null;
  return html`<tr id="p-${id}" data-id="${id}"${row.status !== 'alive' && html` class="dead"`}>
<td class="select-cell"><input type="checkbox" name="id" value="${id}" form="copying" aria-label="${proxies.select(address)}"></td>
<th scope="row" class="address">${address}${asksLogin && html` <span class="pill" title="${proxies.loginMeans}">${proxies.login}</span>`}</th>
<td class="kind">${kindOf(proxies, row)}</td>
<td class="country">${placeOf(site, row.country)}</td>
<td class="number-cell latency">${latencyOf(site, row)}</td>
<td class="number-cell uptime">${uptimeBar(site, recentChecks(row.recent))}<span class="percent">${uptime === null ? '–' : formats.percent(Math.round(uptime * 100) / 100)}</span></td>
<td class="number-cell tested">${formats.age(now - row.lastChecked)}</td>
<td class="row-end"><div class="row-actions">${!asksLogin && html`<button class="copy needs-script" type="button" data-copy-row="${id}" aria-label="${proxies.copyWhat(address)}"><span>${frame.copy}</span></button>`}<button class="quiet small" form="testing" name="id" value="${id}" aria-label="${proxies.testWhat(address)}">${proxies.test}</button></div></td>
</tr>
`;
}

function kindOf(words: ProxyWords, { protocol, anonymity, proof }: ProxyRecord): Html {
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

function latencyOf({ words: { proxies }, formats }: Site, { status, responseMs, error }: ProxyRecord): Html {
  if (status === 'alive') return html`${formats.number(Math.round(responseMs ?? 0))} <small>ms</small>`;
  return html`<span class="pill bad">${wordFor(proxies.errors, error ?? 'dead')}</span>`;
}

/** Number of checks in a bar; the server remembers no more. */
const PLACES = 30;
const STEP = 4;

/**
 * Renders the latest checks as a bar, newest at the right: each run of equal results is one line, which a dash
 * pattern divides into checks.
 */
function uptimeBar({ words: { proxies }, formats }: Site, recent: string): Html {
  const passed = recent.replaceAll('0', '').length;
  const label =
    recent === ''
      ? proxies.notTested
      : proxies.lastChecks(formats.number(passed), formats.number(recent.length));
  const bits = recent.slice(-PLACES);
  const first = PLACES - bits.length;
  const path = (bit: string) =>
    [...bits.matchAll(new RegExp(`${bit}+`, 'g'))]
      .map((run) => `M${(first + run.index) * STEP} 7h${run[0].length * STEP - 1}`)
      .join('');
  const line = (name: string, d: string) => (d === '' ? null : html`<path class="${name}" d="${d}"/>`);
  const empty = first > 0 ? `M0 7h${first * STEP - 1}` : '';
  return html`<svg class="uptime-bar" role="img" aria-label="${label}" viewBox="0 0 ${PLACES * STEP - 1} 14">${line('none', empty)}${line('up', path('1'))}${line('down', path('0'))}</svg>`;
}
