import { type Html, html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import type { Site } from '../../web/site.ts';
import { snippet } from '../../web/snippet.ts';
import { type PoolOverview, poolNumbers } from './pool-overview.ts';
import { type Freshness, poolState } from './pool-state.ts';

interface PoolHome {
  basePath: string;
  /** `null` if the store does not answer. */
  overview: PoolOverview | null;
  freshness: Freshness | null;
  /** The store's error in that case. */
  fault: string | null;
  /** True if the server offers nothing else. */
  alone: boolean;
  /** A command that uses the most dependable proxy; `null` if there is none. */
  command: string | null;
}

/** Renders the proxy pool on the home page: its state, and links to more. */
export function poolHome(site: Site, home: PoolHome): Html {
  const { proxies } = site.words;
  const { basePath, overview, freshness, fault, alone, command } = home;
  return html`<section class="pool-band" aria-labelledby="pool-title">
<div>${alone ? html`<h1 id="pool-title">${proxies.poolTitle}</h1>` : html`<h2 id="pool-title">${proxies.poolTitle}</h2>`}
<p class="muted">${proxies.intro}</p></div>
${freshness && poolState(site, freshness)}
${fault !== null && html`<p class="banner bad" role="alert">${icon('warning')}${fault}</p>`}
${overview && poolNumbers(site, overview)}
${command !== null && snippet(site, 'try-one', proxies.tryOne, command)}
<p class="actions"><a class="button" href="${basePath}/proxies">${proxies.browse}${icon('arrow')}</a> <a class="button quiet" href="${basePath}/api/export">${icon('download')}${proxies.downloadList}</a></p>
</section>`;
}
