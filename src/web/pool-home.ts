import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import { type PoolOverview, poolNumbers } from './pool-overview.ts';
import type { Site } from './site.ts';

export interface PoolHome {
  basePath: string;
  /** `null` where the store does not answer. */
  overview: PoolOverview | null;
  /** What the store said then. */
  fault: string | null;
  /** True where this is all that the server offers. */
  alone: boolean;
  /** `5 min ago`, or `null` before the first refresh. */
  refreshed: string | null;
}

/** The proxy pool on the first page: how it is, and where it goes on. */
export function poolHome(_site: Site, { basePath, overview, fault, alone, refreshed }: PoolHome): Html {
  const title = 'Proxies that were proven to work';
  return html`<section class="pool-band" aria-labelledby="pool-title">
<div>${alone ? html`<h1 id="pool-title">${title}</h1>` : html`<h2 id="pool-title">${title}</h2>`}
<p class="muted">Gathered from public lists and each one made to fetch something. ${refreshed === null ? 'The first refresh has not ended yet.' : `Refreshed ${refreshed}.`}</p></div>
${fault !== null && html`<p class="banner bad" role="alert">${icon('warning')}${fault}</p>`}
${overview && poolNumbers(overview)}
<p class="actions"><a class="button" href="${basePath}/proxies">Browse proxies${icon('arrow')}</a> <a class="button quiet" href="${basePath}/api/export">${icon('download')}Download the list</a></p>
</section>`;
}
