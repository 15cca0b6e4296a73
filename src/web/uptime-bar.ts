import { type Html, html } from './html.ts';
import type { Site } from './site.ts';

/** Number of checks in a bar; the server remembers no more. */
const PLACES = 30;
const STEP = 4;

/**
 * Renders the latest checks as a bar, newest at the right: each run of equal results is one line, which a dash
 * pattern divides into checks.
 */
export function uptimeBar({ words: { proxies }, formats }: Site, recent: string): Html {
  const passed = recent.replaceAll('0', '').length;
  const label =
    recent === ''
      ? proxies.notTested
      : proxies.lastChecks(formats.number(passed), formats.number(recent.length));
  const bits = recent.slice(-PLACES);
  const first = PLACES - bits.length;
  const path = (bit: string) =>
    [...bits.matchAll(new RegExp(`${bit}+`, 'g'))]
      .map((run) => `M${(first + run.index) * STEP} 7h${run[0].length * STEP - 1}`)
      .join('');
  const line = (name: string, d: string) => (d === '' ? null : html`<path class="${name}" d="${d}"/>`);
  const empty = first > 0 ? `M0 7h${first * STEP - 1}` : '';
  return html`<svg class="uptime-bar" role="img" aria-label="${label}" viewBox="0 0 ${PLACES * STEP - 1} 14">${line('none', empty)}${line('up', path('1'))}${line('down', path('0'))}</svg>`;
}
