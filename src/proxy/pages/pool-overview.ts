import { type Html, html } from '../../web/html.ts';
import type { Site } from '../../web/site.ts';
import { LATENCY_BOUNDS } from '../pool/latencies.ts';
import { PROTOCOLS } from '../proxy.ts';
import type { ProxyService } from '../service.ts';
import { flag } from './flags.ts';
import type { LinkTo } from './page-query.ts';
import { CHART_RANGES, type ChartRange, poolChart } from './pool-chart.ts';

/** The pool as `ProxyService.overview` knows it, and how much of it the chart shows. */
export interface PoolOverview extends Awaited<ReturnType<ProxyService['overview']>> {
  range: ChartRange;
  /** Ms since 1970. */
  now: number;
}

const MOST_COUNTRIES = 8;

/** Renders the main numbers. The script updates those with `data-stat`. */
export function poolNumbers({ words: { proxies }, formats }: Site, { summary }: PoolOverview): Html {
  const { alive, total, averageResponseMs: averageMs, aliveCountries } = summary;
  const places = aliveCountries.filter(({ country }) => country !== 'ZZ').length;
  const number = (stat: string, value: string, label: string, unit = '') =>
    html`<div class="number"><dt>${label}</dt><dd><span data-stat="${stat}">${value}</span>${unit !== '' && html` <small>${unit}</small>`}</dd></div>`;
  return html`<dl class="numbers">
${number('alive', formats.number(alive), proxies.alive)}${number('total', formats.number(total), proxies.known)}${number('avg_response_time', averageMs === 0 ? '–' : formats.number(Math.round(averageMs)), proxies.meanLatency, 'ms')}${number('countries', formats.number(places), formats.plural(places, proxies.countries))}
</dl>`;
}

/** Renders the way to the pool from the home page of the other service, without what concerns only the pool. */
export function poolLine({ words: { proxies } }: Site, basePath: string): Html {
  return html`<section class="pool-line" aria-labelledby="pool-title"><h2 id="pool-title">${proxies.poolTitle}</h2>
<p><span class="muted">${proxies.intro}</span> <a href="${basePath}/proxies">${proxies.browse}</a></p></section>`;
}

/** Renders the number of proxies over time, their speed, and their countries and protocols. */
export function poolOverview(site: Site, overview: PoolOverview, linkTo: LinkTo, path: string): Html {
  const { words, formats } = site;
  const { proxies } = words;
  const { summary, latencies, samples, range, now } = overview;
  const { alive, aliveCountries: countries, counts } = summary;
  const countOf = (protocol: string) =>
    counts.find((one) => one.protocol === protocol && one.status === 'alive')?.count ?? 0;
  const ranges = CHART_RANGES.map(
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
<section class="card chart-card" aria-labelledby="over-time"><header class="card-head"><h3 id="over-time">${proxies.aliveOver}</h3><nav aria-label="${proxies.rangeNav}"><ul class="tabs">${ranges}</ul></nav></header>${poolChart(site, [...samples, { at: now, alive }], range, now)}</section>
<section class="card" aria-labelledby="by-latency"><h3 id="by-latency">${proxies.latencies}</h3>
${bars(
  site,
  latencies.map((count, index) => {
    const upTo = LATENCY_BOUNDS[index];
    const before = LATENCY_BOUNDS[index - 1] ?? 0;
    const text = (ms: number) => `${formats.number(ms)} ms`;
    return { label: upTo === undefined ? proxies.above(text(before)) : proxies.upTo(text(upTo)), count };
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
  PROTOCOLS.map((protocol) => ({
    label: protocol,
    count: countOf(protocol),
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
