import { type Html, html } from './html.ts';
import type { Site } from './site.ts';
import { wordFor } from './word-for.ts';

/** A list of proxies: the result of the last refresh, and its record. */
interface SourceView {
  name: string;
  state: string;
  found: number;
  fresh: number;
  alive: number;
  error: string | null;
  /** Share of its entries that work, 0 to 1; `null` until enough were checked. */
  yield: number | null;
  /** Ms since 1970; `null` if the next refresh reads it. */
  pausedUntil: number | null;
}

export interface SourceList {
  sources: readonly SourceView[];
  basePath: string;
  /** Whether anyone may retry a list, or only the administrator. */
  retryable: 'open' | 'admin';
}

/** Renders the lists of proxies, and how good they are. */
export function sourceTable(site: Site, { sources, basePath, retryable }: SourceList): Html {
  const { words, formats } = site;
  const { proxies } = words;
  if (sources.length === 0) return html`<p class="empty">${proxies.noSources}</p>`;
  const cell = (label: string, value: string, field = '') =>
    html`<td class="number-cell" data-label="${label}"${field !== '' && html` data-field="${field}"`}>${value}</td>`;
  const heading = (label: string, title = '') =>
    html`<th scope="col" class="number-cell"${title !== '' && html` title="${title}"`}>${label}</th>`;
  const row = (source: SourceView) => {
    const { name, state, error, pausedUntil } = source;
    const isBad = state === 'failed' || state === 'paused';
    const share = source.yield === null ? '–' : formats.percent(source.yield);
    const next = pausedUntil === null ? proxies.withNextRefresh : `${formats.dateTime(pausedUntil)} UTC`;
    return html`<tr data-source="${name}"><th scope="row" class="wrap">${name}</th><td class="source-state"><span class="pill${isBad && ' bad'}" data-field="state">${wordFor(proxies.sourceStates, state)}</span>${error !== null && html` <span class="small muted wrap">${error}</span>`}</td>${cell(proxies.entries, formats.number(source.found), 'found')}${cell(proxies.fresh, formats.number(source.fresh), 'fresh')}${cell(proxies.working, formats.number(source.alive), 'alive')}${cell(proxies.yield, share)}${cell(proxies.nextRead, next)}<td class="row-end">${isBad && html`<button class="quiet small needs-script" type="button" data-retry="${basePath}/api/sources/${encodeURIComponent(name)}/retry"${retryable === 'admin' && html` data-admin`} aria-label="${proxies.retryWhat(name)}">${proxies.retry}</button>`}</td></tr>\n`;
  };
  return html`<div class="table-wrap"><table class="sources" data-states="${JSON.stringify(proxies.sourceStates)}">
<caption class="visually-hidden">${proxies.sourceCaption}</caption>
<thead><tr><th scope="col">${proxies.list}</th><th scope="col">${proxies.state}</th>${heading(proxies.entries)}${heading(proxies.fresh)}${heading(proxies.working)}${heading(proxies.yield, proxies.yieldMeans)}${heading(proxies.nextRead)}<th scope="col"><span class="visually-hidden">${proxies.actions}</span></th></tr></thead>
<tbody>
${sources.map(row)}</tbody>
</table></div>`;
}
