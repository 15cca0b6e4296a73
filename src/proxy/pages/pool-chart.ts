import { type Html, html } from '../../web/html.ts';
import type { Site } from '../../web/site.ts';
import type { PoolSample } from '../pool/pool-history.ts';

/** The size of the pool at one time. */
export type Sample = Pick<PoolSample, 'at' | 'alive'>;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** A shorter history has no trend yet. */
const LEAST_MS = HOUR_MS / 6;
const WIDTH = 600;
const HEIGHT = 150;

/** How far back, the number of points drawn, and the time between two rows of the table. */
const SPANS = {
  '1d': { ms: DAY_MS, points: 145, rowMs: 2 * HOUR_MS },
  '7d': { ms: 7 * DAY_MS, points: 169, rowMs: 12 * HOUR_MS },
  '30d': { ms: 30 * DAY_MS, points: 181, rowMs: 2 * DAY_MS },
} as const;
export type ChartRange = keyof typeof SPANS;
export const CHART_RANGES: readonly ChartRange[] = ['1d', '7d', '30d'];

/**
 * Renders how many proxies worked, as a line with axes whose values browsers show at the pointer, and as a table.
 */
export function poolChart(site: Site, samples: readonly Sample[], range: ChartRange, now: number): Html {
  const { words, formats } = site;
  const { proxies } = words;
  const { ms, points, rowMs } = SPANS[range];
  const shown = thinned(
    samples.filter(({ at }) => now - at <= ms),
    points,
  );
  const first = shown[0];
  const last = shown.at(-1);
  // A pool that is younger than the range fills the whole width.
  const span = Math.min(ms, now - (first?.at ?? now));
  if (!first || !last || span < LEAST_MS)
    return html`<p class="chart-soon muted small">${proxies.chartSoon}</p>`;
  const counts = shown.map(({ alive }) => alive);
  const most = Math.max(...counts);
  const { top, step } = niceScale(most);
  const x = (at: number) => Math.round(10 * WIDTH * (1 - (now - at) / span)) / 10;
  const y = (alive: number) => Math.round(10 * (HEIGHT - (HEIGHT * alive) / top)) / 10;
  const line = shown.map(({ at, alive }) => `${x(at)},${y(alive)}`).join(' L');
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step);
  const summary = proxies.chartWords(
    formats.number(last.alive),
    formats.number(Math.min(...counts)),
    formats.number(most),
  );
  const gap = WIDTH / Math.max(1, shown.length - 1);
  return html`<div class="chart-frame">
<ol class="chart-y" aria-hidden="true">${ticks.toReversed().map((value) => html`<li>${formats.number(value)}</li>`)}</ol>
<div class="chart-plot" role="img" aria-label="${proxies.aliveOver}: ${summary}">
<svg class="chart" preserveAspectRatio="none" viewBox="0 0 ${WIDTH} ${HEIGHT}" aria-hidden="true">
<path class="grid" d="${ticks.map((value) => `M0 ${y(value)}H${WIDTH}`).join('')}"/>
<path class="area" d="M${x(first.at)},${HEIGHT} L${line} L${x(last.at)},${HEIGHT}Z"/>
<path class="line" d="M${line}"/>
${shown.map(({ at, alive }) => html`<rect class="value" x="${x(at) - gap / 2}" width="${gap}" height="${HEIGHT}"><title>${formats.dateTime(at)}: ${formats.number(alive)}</title></rect>`)}
</svg></div>
<ol class="chart-x" aria-hidden="true">${timeTicks(site, span, now).map((text) => html`<li>${text}</li>`)}</ol>
</div>
<details class="chart-values"><summary class="small">${proxies.values}</summary>
<table><thead><tr><th scope="col">${proxies.time}</th><th scope="col" class="number-cell">${proxies.aliveOver}</th></tr></thead>
<tbody>${everyMs(shown, (rowMs * span) / ms).map(({ at, alive }) => html`<tr><td>${formats.dateTime(at)}</td><td class="number-cell">${formats.number(alive)}</td></tr>`)}</tbody></table></details>`;
}

/** Returns five times along the axis, the last one now. */
function timeTicks({ formats }: Site, span: number, now: number): string[] {
  return [4, 3, 2, 1, 0].map((part) => {
    const at = now - (span * part) / 4;
    return span <= DAY_MS ? formats.time(at) : formats.day(at);
  });
}

/** Returns evenly spaced samples, including the last one. */
function thinned(samples: readonly Sample[], most: number): readonly Sample[] {
  const step = Math.ceil(samples.length / most);
  return samples.filter((_, index) => (samples.length - 1 - index) % step === 0);
}

/** Returns the newest sample, and earlier ones at this distance, newest first. */
function everyMs(samples: readonly Sample[], gapMs: number): Sample[] {
  const rows: Sample[] = [];
  for (const sample of samples.toReversed()) {
    const before = rows.at(-1);
    if (!before || before.at - sample.at >= gapMs) rows.push(sample);
  }
  return rows;
}

/** Returns a scale of two to five steps of 1, 2 or 5 times a power of ten, in whole proxies. */
function niceScale(most: number): { top: number; step: number } {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, most)) - 1);
  const step =
    [1, 2, 5, 10, 20, 50]
      .map((factor) => Math.max(1, Math.round(factor * power)))
      .find((one) => most <= 4 * one) ?? 50 * power;
  return { top: step * Math.max(2, Math.ceil(most / step)), step };
}
