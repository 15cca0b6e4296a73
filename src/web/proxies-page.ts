import type { Flags } from './flags.ts';
import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import { type PoolOverview, poolNumbers, poolOverview } from './pool-overview.ts';
import { type Freshness, statePanel } from './pool-state.ts';
import { activeFilters, type FilterBar, proxyFilters } from './proxy-filters.ts';
import { type ProxyList, proxyResults } from './proxy-table.ts';
import type { Site } from './site.ts';
import { type SourceList, sourceTable } from './source-table.ts';
import { type CodeSample, codeSamples, type GatewayPanel, gatewayUse } from './use-it.ts';

export interface ProxiesPage {
  overview: PoolOverview;
  freshness: Freshness;
  filters: FilterBar;
  list: ProxyList;
  sources: SourceList;
  samples: readonly CodeSample[];
  /** `null` where the gateway is off. */
  gateway: GatewayPanel | null;
  flags: Flags;
}

/** Renders the pool: its contents, its state, and its sources. The script replaces the parts with an ID. */
export function proxiesPage(site: Site, page: ProxiesPage): string {
  const { proxies } = site.words;
  const { overview, freshness, filters, list, sources, samples, gateway, flags } = page;
  const { path, basePath, linkTo } = list;
  const countries = [...overview.countries, ...list.rows].map(({ country }) => country);
  return site.render({
    title: proxies.title,
    summary: proxies.summary,
    current: path,
    scripts: ['copy.js', 'chart.js', 'selection.js', 'proxies.js', 'live.js'],
    content: html`<div class="pool-head" data-api="${basePath}/api/">
<h1>${proxies.title}</h1>
<div id="numbers">${poolNumbers(site, overview)}</div>
<div id="state">${statePanel(site, freshness)}</div>
</div>
<p class="lost" id="lost" role="status" hidden>${icon('warning')}${proxies.lost}</p>
<section id="list" aria-label="${proxies.title}">
${proxyFilters(site, filters)}
<div id="active">${activeFilters(site, filters)}</div>
<div id="results">${proxyResults(site, list)}</div>
</section>
<section aria-labelledby="use-title">
<header class="section-head"><div><h2 id="use-title">${proxies.use}</h2><p class="muted">${proxies.useMeans}</p></div></header>
<div id="samples">${codeSamples(site, samples)}</div>
</section>
${gateway && gatewayUse(site, gateway)}
<section aria-labelledby="charts">
<header class="section-head"><h2 id="charts">${proxies.charts}</h2></header>
<div id="overview">${poolOverview(site, overview, linkTo, path)}</div>
</section>
<section aria-labelledby="sources-title">
<header class="section-head"><h2 id="sources-title">${proxies.sources}</h2></header>
<div id="sources">${sourceTable(site, sources)}</div>
</section>
${sources.retryable === 'admin' && adminDialog(site)}
<div id="flags">${flags.outlines(countries)}</div>`,
  });
}

/** Renders the dialog that asks for the token for refreshing and retrying. */
function adminDialog({ words: { proxies } }: Site): Html {
  return html`<dialog id="admin" aria-labelledby="admin-why"><form method="dialog" class="stack">
<p id="admin-why">${proxies.adminWhy}</p>
<p><label for="admin-token">${proxies.adminToken}</label><input id="admin-token" type="password" autocomplete="current-password"></p>
<button>${proxies.unlock}</button>
</form></dialog>`;
}
