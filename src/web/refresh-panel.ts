import { type Html, html } from './html.ts';
import { icon } from './icons.ts';
import { readableAge, readableNumber, readableTime } from './words.ts';

/** A refresh as it stands; its names are those of the events that follow. */
export interface RefreshView {
  state: string;
  stage: string | null;
  error: string | null;
  fetched: number;
  candidates: number;
  checked: number;
  alive: number;
  removed: number;
  /** Ms since 1970; `null` unless it failed. */
  retryAt: number | null;
  sources: readonly SourceView[];
}

export interface SourceView {
  name: string;
  state: string;
  found: number;
  fresh: number;
  checked: number;
  alive: number;
  error: string | null;
}

export interface Freshness {
  job: RefreshView;
  judge: 'unknown' | 'up' | 'down';
  /** By kind: `none` where there is no such judge. */
  judges: Readonly<Record<'http' | 'https', string>>;
  /** When the latest check of such proxies was, where no judge of their kind answers; `null` where there are none. */
  checkedAt: Readonly<Partial<Record<'http' | 'https', number | null>>>;
  /** Whether anything can prove a new `http` proxy. */
  provable: boolean;
  /** Ms since 1970, `null` before the first. */
  lastRefresh: number | null;
  intervalMs: number;
  now: number;
  /** True where anybody may start a refresh. */
  startable: boolean;
}

const STAGES = [
  ['fetch', 'Fetch lists'],
  ['verify', 'Verify'],
  ['store', 'Store'],
  ['cleanup', 'Clean up'],
] as const;

const ERRORS: Record<string, string> = {
  network_down: 'most lists could not be reached',
  judge_down: 'no judge answered',
  interrupted: 'the server that ran it ended',
  stopped: 'it was stopped',
  internal: 'a fault of the server',
};

/** What the refresh does right now, or did last. The script keeps what is marked with `data-job` up to date. */
export function refreshPanel(freshness: Freshness): Html {
  const { job, startable } = freshness;
  const running = job.state === 'running';
  const at = STAGES.findIndex(([stage]) => stage === job.stage);
  const share = job.candidates > 0 ? job.checked / job.candidates : 0;
  return html`<div class="card refresh" data-state="${job.state}">
<div class="refresh-head">
<p><strong>${running ? 'Refreshing now' : freshnessWords(freshness)}</strong></p>
<ol class="stages" aria-label="Stages">${STAGES.map(
    ([stage, label], index) =>
      html`<li data-stage="${stage}" class="${stageClass(index, at, running, job.state)}"${running && index === at && html` aria-current="step"`}>${label}</li>`,
  )}</ol>
${startable && html`<button class="quiet small needs-script" type="button" data-refresh${running && html` disabled`}>${icon('refresh')}Refresh now</button>`}
</div>
${running && html`<progress max="1" value="${share}" aria-label="Checked" data-job-progress></progress>`}
<p class="small muted"><b data-job="fetched">${readableNumber(job.fetched)}</b> listed entries, <b data-job="checked">${readableNumber(job.checked)}</b> of <b data-job="candidates">${readableNumber(job.candidates)}</b> candidates checked, <b data-job="alive">${readableNumber(job.alive)}</b> alive, <b data-job="removed">${readableNumber(job.removed)}</b> removed</p>
</div>`;
}

function stageClass(index: number, at: number, running: boolean, state: string): string {
  if (running) return index === at ? 'now' : index < at ? 'past' : '';
  return state === 'done' ? 'past' : '';
}

function freshnessWords({ lastRefresh, now, job }: Freshness): string {
  if (lastRefresh === null)
    return job.state === 'failed' ? 'No refresh has succeeded yet' : 'No refresh has run yet';
  return `Refreshed ${readableAge(now - lastRefresh)}`;
}

/** What a visitor should know before relying on the list, in plain words; nothing where all is well. */
export function poolWarnings({
  job,
  judge,
  judges,
  checkedAt,
  provable,
  lastRefresh,
  intervalMs,
  now,
}: Freshness): Html | null {
  const words: string[] = [];
  if (judge === 'down') {
    words.push(
      'The judge does not answer at the moment: no proxy is tested, and none is taken off the list meanwhile.',
    );
  }
  for (const scheme of ['http', 'https'] as const) {
    if (judges[scheme] !== 'down') continue;
    const meant = scheme === 'https' ? 'https and SOCKS proxies' : 'http proxies';
    const at = checkedAt[scheme] ?? null;
    const age = at === null ? 'before' : `${readableAge(now - at)} at the latest`;
    words.push(
      judge === 'down'
        ? `The ${meant} were checked ${age}.`
        : `No judge for ${scheme} answers at the moment: ${meant} are listed as they were found ${age}.`,
    );
  }
  if (!provable) {
    words.push('No witness can be had at the moment: new http proxies are listed on their word alone.');
  }
  if (job.state === 'failed' && job.error !== null && job.error !== 'judge_down') {
    const again = job.retryAt === null ? '' : `; it is tried again at ${readableTime(job.retryAt)}`;
    words.push(`The last refresh did not end well: ${ERRORS[job.error] ?? job.error}${again}.`);
  }
  if (lastRefresh !== null && now - lastRefresh > 2 * intervalMs && job.state !== 'running') {
    words.push(`The list is stale: it was last refreshed ${readableAge(now - lastRefresh)}.`);
  }
  if (words.length === 0) return null;
  return html`<p class="banner bad">${icon('warning')}<span>${words.join(' ')}</span></p>`;
}

/** The lists that proxies come from, and how good they are. */
export function sourceTable(sources: readonly SourceView[]): Html {
  if (sources.length === 0) return html`<p class="empty">The lists show here after the first refresh.</p>`;
  const cell = (source: SourceView, field: 'found' | 'fresh' | 'checked' | 'alive', label: string) =>
    html`<td class="number-cell" data-label="${label}" data-field="${field}">${readableNumber(source[field])}</td>`;
  return html`<div class="table-wrap"><table class="sources">
<caption class="visually-hidden">Lists and what the last refresh found in them</caption>
<thead><tr><th scope="col">List</th><th scope="col">State</th><th scope="col" class="number-cell">Entries</th><th scope="col" class="number-cell">New</th><th scope="col" class="number-cell">Checked</th><th scope="col" class="number-cell">Alive</th></tr></thead>
<tbody>
${sources.map(
  (source) =>
    html`<tr data-source="${source.name}"><th scope="row" class="wrap">${source.name}</th><td class="source-state"><span class="tag${source.state === 'failed' && ' bad'}" data-field="state">${source.state}</span>${source.error !== null && html` <span class="small muted wrap">${source.error}</span>`}</td>${cell(source, 'found', 'Entries')}${cell(source, 'fresh', 'New')}${cell(source, 'checked', 'Checked')}${cell(source, 'alive', 'Alive')}</tr>\n`,
)}</tbody>
</table></div>`;
}
