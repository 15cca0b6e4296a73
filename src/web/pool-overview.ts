import { type Html, html } from './html.ts';
import { poolChart, type Sample } from './pool-chart.ts';
import { countryName, readableNumber } from './words.ts';

export interface PoolOverview {
  alive: number;
  total: number;
  /** Mean response time of the living. */
  averageMs: number;
  /** Living proxies, most first. */
  protocols: readonly { protocol: string; count: number }[];
  countries: readonly { country: string; count: number }[];
  /** Oldest first, up to now. */
  samples: readonly Sample[];
  /** Ms since 1970. */
  now: number;
}

const MOST_COUNTRIES = 6;

/** How many there are, over the last day, by protocol and by country. */
export function poolOverview(overview: PoolOverview, path: string): Html {
  const { countries, protocols, samples, now } = overview;
  return html`${poolNumbers(overview)}
<div class="panels">
<section class="card" aria-labelledby="day"><h2 id="day">Alive, last 24 hours</h2>${poolChart(samples, now)}</section>
<section class="card" aria-labelledby="by-protocol"><h2 id="by-protocol">Protocols</h2>
${bars(protocols.map(({ protocol, count }) => ({ label: protocol, count, href: `${path}?protocol=${protocol}` })))}</section>
<section class="card" aria-labelledby="by-country"><h2 id="by-country">Countries</h2>
${bars(
  countries.slice(0, MOST_COUNTRIES).map(({ country, count }) => ({
    label: countryName(country),
    count,
    href: `${path}?country=${country}`,
  })),
)}</section>
</div>`;
}

/** The numbers at a glance. */
export function poolNumbers({ alive, total, averageMs, countries }: PoolOverview): Html {
  const places = countries.filter(({ country }) => country !== 'ZZ').length;
  return html`<dl class="numbers">
<div class="number"><dt>alive now</dt><dd>${readableNumber(alive)}</dd></div>
<div class="number"><dt>known</dt><dd>${readableNumber(total)}</dd></div>
<div class="number"><dt>mean response</dt><dd>${averageMs === 0 ? '–' : readableNumber(Math.round(averageMs))} <small>${averageMs !== 0 && 'ms'}</small></dd></div>
<div class="number"><dt>countries</dt><dd>${places}</dd></div>
</dl>`;
}

function bars(entries: readonly { label: string; count: number; href: string }[]): Html {
  if (entries.every(({ count }) => count === 0)) return html`<p class="muted small">None is alive.</p>`;
  const most = Math.max(...entries.map(({ count }) => count));
  return html`<ul class="bars">
${entries.map(
  ({ label, count, href }) => html`<li><a href="${href}">${label}</a> <b>${readableNumber(count)}</b>
<svg aria-hidden="true" preserveAspectRatio="none" viewBox="0 0 100 1"><rect class="bar-back" width="100" height="1"/><rect class="bar-front" width="${Math.round((1000 * count) / most) / 10}" height="1"/></svg></li>\n`,
)}</ul>`;
}
