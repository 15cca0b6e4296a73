import { type Html, html } from './html.ts';
import { readableNumber } from './words.ts';

/** The size of the pool at a moment, in ms since 1970. */
export interface Sample {
  at: number;
  alive: number;
}

const DAY_MS = 86_400_000;
const WIDTH = 600;
const HEIGHT = 150;

/** How many were alive over the last day, as a line that is described in words, too. */
export function poolChart(samples: readonly Sample[], now: number): Html {
  const shown = samples.filter(({ at }) => now - at <= DAY_MS);
  const first = shown[0];
  const last = shown.at(-1);
  if (!first || !last || shown.length < 2) {
    return html`<p class="muted small">The line begins with the next sample; one is taken every ten minutes.</p>`;
  }
  const counts = shown.map(({ alive }) => alive);
  const most = Math.max(...counts);
  const top = niceTop(most);
  const x = (at: number) => Math.round(10 * WIDTH * (1 - (now - at) / DAY_MS)) / 10;
  const y = (alive: number) => Math.round(10 * (HEIGHT - (HEIGHT * alive) / top)) / 10;
  const line = shown.map(({ at, alive }) => `${x(at)},${y(alive)}`).join(' L');
  const words = `${readableNumber(last.alive)} alive now; least ${readableNumber(Math.min(...counts))}, most ${readableNumber(most)} in the last 24 hours.`;
  return html`<div>
<svg class="chart" role="img" aria-label="${words}" preserveAspectRatio="none" viewBox="0 0 ${WIDTH} ${HEIGHT}">
<path class="grid" d="M0 ${HEIGHT}H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 0H${WIDTH}"/>
<path class="area" d="M${x(first.at)},${HEIGHT} L${line} L${x(last.at)},${HEIGHT}Z"/>
<path class="line" d="M${line}"/>
</svg>
<p class="chart-axis" aria-hidden="true"><span>24 h ago</span><span>0 to ${readableNumber(top)}</span><span>now</span></p>
</div>`;
}

/** The next of 1, 2, 5, 10, 20 ... above. */
function niceTop(most: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  return [1, 2, 5, 10].map((step) => step * power).find((top) => top >= most) ?? 10 * power;
}
