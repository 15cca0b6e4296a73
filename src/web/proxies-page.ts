import { html } from './html.ts';
import { type PoolOverview, poolOverview } from './pool-overview.ts';
import { type FilterChoices, proxyFilters } from './proxy-filters.ts';
import { type ProxyList, proxyResults } from './proxy-table.ts';
import { type Freshness, poolWarnings, refreshPanel, sourceTable } from './refresh-panel.ts';
import type { Site } from './site.ts';
import { type GatewayPanel, useIt } from './use-it.ts';

export interface ProxiesPage {
  overview: PoolOverview;
  freshness: Freshness;
  choices: FilterChoices;
  list: ProxyList;
  /** `null` where the gateway is off. */
  gateway: GatewayPanel | null;
}

/** The pool: how it is, what it holds, where that comes from. The parts with an id are what the script replaces. */
export function proxiesPage(
  site: Site,
  { overview, freshness, choices, list, gateway }: ProxiesPage,
): string {
  const { path, basePath, values } = list;
  return site.render({
    title: 'Proxies',
    summary: 'Free public proxies that were proven to work, by protocol, country and speed.',
    current: path,
    scripts: ['copy.js', 'results.js', 'proxies.js'],
    content: html`<header class="page-head"><div>
<h1>Proxies that were proven to work</h1>
<p class="lead">Gathered from public lists, each one dialled and made to fetch something before it shows up here.</p>
</div></header>
<div class="pool-band" data-api="${basePath}/api/">
<div id="overview" class="pool-band">${poolWarnings(freshness)}${poolOverview(overview, path)}</div>
<div id="refresh">${refreshPanel(freshness)}</div>
</div>
${gateway && useIt(site, gateway)}
<section aria-labelledby="list-title">
<header class="section-head"><h2 id="list-title">List</h2></header>
${proxyFilters(path, values, choices)}
<div id="results">${proxyResults(site, list)}</div>
</section>
<section aria-labelledby="sources-title">
<header class="section-head"><h2 id="sources-title">Where they come from</h2></header>
<div id="sources">${sourceTable(freshness.job.sources)}</div>
</section>`,
  });
}
