import { type Html, html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import type { Site } from '../../web/site.ts';
import { wordFor } from '../../web/words/formats.ts';
import type { SourceProgress } from '../refresh/progress.ts';
import type { Flags } from './flags.ts';
import type { Listing } from './page-query.ts';
import { type PoolOverview, poolNumbers, poolOverview } from './pool-overview.ts';
import { type Freshness, statePanel } from './pool-state.ts';
import { activeFilters, proxyFilters } from './proxy-filters.ts';
import { proxyResults } from './proxy-table.ts';
import { type GatewayPanel, gatewayUse, listUse } from './use-it.ts';

interface ProxiesPage {
  overview: PoolOverview;
  freshness: Freshness;
  list: Listing;
  sources: readonly SourceProgress[];
  /** URL of the list in the API. */
  api: string;
  /** `null` where the gateway is off. */
  gateway: GatewayPanel | null;
  flags: Flags;
}

/** Renders the pool: its contents, its state, and its sources. The script replaces the parts with an ID. */
export function proxiesPage(site: Site, page: ProxiesPage): string {
  const { proxies } = site.words;
  const { overview, freshness, list, api, gateway, flags } = page;
  const { path, basePath, linkTo } = list;
  const countries = [...overview.summary.aliveCountries, ...list.rows].map(({ country }) => country);
  return site.render({
    title: proxies.title,
    summary: proxies.summary,
    current: path,
    scripts: ['copy.js', 'selection.js', 'proxies.js', 'live.js'],
    content: html`<div class="pool-head" data-api="${basePath}/api/">
<h1>${proxies.title}</h1>
<div id="numbers">${poolNumbers(site, overview)}</div>
<div id="state">${statePanel(site, freshness)}</div>
</div>
<p class="lost" id="lost" role="status" hidden>${icon('warning')}${proxies.lost}</p>
<section id="list" aria-label="${proxies.title}">
${proxyFilters(site, list)}
<div id="active">${activeFilters(site, list)}</div>
<div id="results">${proxyResults(site, list)}</div>
</section>
<section aria-labelledby="use-title">
<header class="section-head"><div><h2 id="use-title">${proxies.use}</h2><p class="muted">${proxies.useMeans}</p></div></header>
<div id="code">${listUse(site, api, list.query.filter)}</div>
</section>
${gateway && gatewayUse(site, gateway)}
<section aria-labelledby="charts">
<header class="section-head"><h2 id="charts">${proxies.charts}</h2></header>
<div id="overview">${poolOverview(site, overview, linkTo, path)}</div>
</section>
<section aria-labelledby="sources-title">
<header class="section-head"><h2 id="sources-title">${proxies.sources}</h2></header>
<div id="sources">${sourceTable(site, page)}</div>
</section>
${freshness.adminRequired && adminDialog(site)}
<div id="flags">${flags.outlines(countries)}</div>`,
  });
}

/** Renders the dialog that asks for the token for refreshing. */
function adminDialog({ words: { proxies } }: Site): Html {
  return html`<dialog id="admin" aria-labelledby="admin-why" closedby="any"><form method="dialog" class="stack">
<p id="admin-why">${proxies.adminWhy}</p>
<p><label for="admin-token">${proxies.adminToken}</label><input id="admin-token" type="password" required autocomplete="current-password"></p>
<button value="entered">${proxies.unlock}</button>
</form></dialog>`;
}

/** Renders the lists of proxies, and how good they are. */
function sourceTable(site: Site, { sources }: ProxiesPage): Html {
  const { words, formats } = site;
  const { proxies } = words;
  if (sources.length === 0) return html`<p class="empty">${proxies.noSources}</p>`;
  const cell = (value: string) => html`<td class="number-cell">${value}</td>`;
  const heading = (label: string, title = '') =>
    html`<th scope="col" class="number-cell"${title !== '' && html` title="${title}"`}>${label}</th>`;
  const row = (source: SourceProgress) => {
    const { name, state, error, pausedUntil } = source;
    const isBad = state === 'failed' || state === 'paused';
    const share = source.yield === null ? '–' : formats.percent(source.yield);
    const next = pausedUntil === null ? proxies.withNextRefresh : `${formats.dateTime(pausedUntil)} UTC`;
    return html`<tr><th scope="row" class="wrap">${name}</th><td class="source-state"><span class="pill${isBad && ' bad'}">${wordFor(proxies.sourceStates, state)}</span>${error !== null && html` <span class="small muted wrap">${error}</span>`}</td>${cell(formats.number(source.found))}${cell(formats.number(source.fresh))}${cell(formats.number(source.alive))}${cell(share)}${cell(next)}</tr>\n`;
  };
  return html`<div class="table-wrap" tabindex="0" role="region" aria-label="${proxies.sourceCaption}"><table class="sources">
<caption class="visually-hidden">${proxies.sourceCaption}</caption>
<thead><tr><th scope="col">${proxies.list}</th><th scope="col">${proxies.state}</th>${heading(proxies.entries)}${heading(proxies.fresh)}${heading(proxies.working)}${heading(proxies.yield, proxies.yieldMeans)}${heading(proxies.nextRead)}</tr></thead>
<tbody>
${sources.map(row)}</tbody>
</table></div>`;
}
