import { flag } from './flags.ts';
import { type Html, html } from './html.ts';
import { type ChartRange, poolChart, type Sample } from './pool-chart.ts';
import type { LinkTo } from './proxy-links.ts';
import type { Site } from './site.ts';

export interface PoolOverview {
  alive: number;
  total: number;
  /** Mean response time of working proxies. */
  averageMs: number;
  /** Working proxies, most common first. */
  protocols: readonly { protocol: string; count: number }[];
  countries: readonly { country: string; count: number }[];
  /** Working proxies by response time: up to each bound in ms, and above the last one (`null`). */
  latencies: readonly { upTo: number | null; count: number }[];
  /** Oldest first, up to now. */
  samples: readonly Sample[];
  range: ChartRange;
  /** Ms since 1970. */
  now: number;
}

const MOST_COUNTRIES = 8;
const RANGES: readonly ChartRange[] = ['1d', '7d', '30d'];

/** Renders the main numbers. The script updates those with `data-stat`. */
export function poolNumbers({ words: { proxies }, formats }: Site, overview: PoolOverview): Html {
  const { alive, total, averageMs, countries } = overview;
  const places = countries.filter(({ country }) => country !== 'ZZ').length;
  const number = (stat: string, value: string, label: string, unit = '') =>
    html`<div class="number"><dt>${label}</dt><dd><span data-stat="${stat}">${value}</span>${unit !== '' && html` <small>${unit}</small>`}</dd></div>`;
  return html`<dl class="numbers">
${number('alive', formats.number(alive), proxies.alive)}${number('total', formats.number(total), proxies.known)}${number('avg_response_time', averageMs === 0 ? '–' : formats.number(Math.round(averageMs)), proxies.meanLatency, 'ms')}${number('countries', formats.number(places), formats.plural(places, proxies.countries))}
</dl>`;
}

/** Renders the number of proxies over time, their speed, and their countries and protocols. */
export function poolOverview(site: Site, overview: PoolOverview, linkTo: LinkTo, path: string): Html {
  const { words, formats } = site;
  const { proxies } = words;
  const { countries, protocols, latencies, samples, range, now } = overview;
  const ranges = RANGES.map(
    (one) =>
      html`<li><a href="${linkTo({ range: one === '1d' ? null : one }, 'charts')}" data-range${one === range && html` aria-current="true"`}>${proxies.ranges[one]}</a></li>`,
  );
  const more = countries.slice(MOST_COUNTRIES);
  const country = (entry: (typeof countries)[number]) => ({
    label: entry.country === 'ZZ' ? proxies.unknownCountry : formats.country(entry.country),
    icon: entry.country === 'ZZ' ? null : flag(entry.country),
    count: entry.count,
    href: `${path}?country=${entry.country}#list`,
  });
  const most = countries[0]?.count ?? 0;
  return html`<div class="panels">
<section class="card chart-card" aria-labelledby="over-time"><header class="card-head"><h3 id="over-time">${proxies.aliveOver}</h3><nav aria-label="${proxies.rangeNav}"><ul class="tabs">${ranges}</ul></nav></header>${poolChart(site, samples, range, now)}</section>
<section class="card" aria-labelledby="by-latency"><h3 id="by-latency">${proxies.latencies}</h3>
${bars(
  site,
  latencies.map(({ upTo, count }, index) => {
    const before = latencies[index - 1]?.upTo ?? 0;
    const text = (ms: number) => `${formats.number(ms)} ms`;
    return { label: upTo === null ? proxies.above(text(before)) : proxies.upTo(text(upTo)), count };
  }),
)}</section>
<section class="card" aria-labelledby="by-country"><h3 id="by-country">${proxies.byCountry}</h3>
${bars(site, countries.slice(0, MOST_COUNTRIES).map(country))}${
  more.length > 0 &&
  html`<details><summary class="small">${formats.plural(more.length, proxies.moreCountries)}</summary>${bars(site, more.map(country), most)}</details>`
}</section>
<section class="card" aria-labelledby="by-protocol"><h3 id="by-protocol">${proxies.byProtocol}</h3>
${bars(
  site,
  protocols.map(({ protocol, count }) => ({
    label: protocol,
    count,
    href: `${path}?protocol=${protocol}#list`,
  })),
)}</section>
</div>`;
}

interface Bar {
  label: string;
  icon?: Html | null;
  count: number;
  href?: string;
}

function bars(
  { words: { proxies }, formats }: Site,
  entries: readonly Bar[],
  most = Math.max(0, ...entries.map(({ count }) => count)),
): Html {
  if (entries.every(({ count }) => count === 0)) return html`<p class="muted small">${proxies.noneAlive}</p>`;
  return html`<ul class="bars">
${entries.map(({ label, icon = null, count, href }) => {
  const text = html`${icon}${icon && ' '}${label}`;
  return html`<li>${href === undefined ? html`<span>${text}</span>` : html`<a href="${href}">${text}</a>`} <b>${formats.number(count)}</b>
<svg aria-hidden="true" preserveAspectRatio="none" viewBox="0 0 100 1"><rect class="bar-back" width="100" height="1"/><rect class="bar-front" width="${Math.round((1000 * count) / Math.max(1, most)) / 10}" height="1"/></svg></li>\n`;
})}</ul>`;
}
