import { type Html, html } from '../../web/html.ts';
import { icon } from '../../web/icons.ts';
import type { Site } from '../../web/site.ts';
import { wordFor } from '../../web/words/formats.ts';
import type { Scheme } from '../check/judges.ts';
import type { PoolStatus } from '../pool/status.ts';

/** The state of the pool, and what only its page tells of it. */
export interface Freshness {
  status: PoolStatus;
  /** Time of the latest check of such proxies, if no judge of their kind answers; `null` if there are none. */
  checkedAt: Readonly<Partial<Record<Scheme, number | null>>>;
  /** Ms since 1970. */
  now: number;
  /** True if visitors have to enter the administrator's token before they start a refresh. */
  adminRequired: boolean;
}

const TONES: Record<PoolStatus['condition'], 'good' | 'busy' | 'idle' | 'bad'> = {
  ready: 'good',
  starting: 'busy',
  filling: 'busy',
  refreshing: 'busy',
  waiting: 'idle',
  network_down: 'bad',
  lists_failing: 'bad',
  no_judge: 'bad',
  failed: 'bad',
  stale: 'bad',
};

/** Renders the condition of the pool and its reason on one line, in the same words on every page. */
function poolState(site: Site, freshness: Freshness): Html {
  const { proxies } = site.words;
  const { condition } = freshness.status;
  return html`<p class="state ${TONES[condition]}"><b>${proxies.conditions[condition]}</b> <span>${stateSentences(site, freshness).join(proxies.betweenSentences)}</span></p>`;
}

/** Returns the problem, what it means for the list, and when it is retried. */
function stateSentences(site: Site, { status, now }: Freshness): string[] {
  const { words, formats } = site;
  const { explained } = words.proxies;
  const { condition, refresh: job, lastRefresh, nextRefresh } = status;
  const age =
    lastRefresh === null ? explained.neverRefreshed : explained.refreshedAge(formats.age(now - lastRefresh));
  const runs = job.state === 'running';
  const again = runs ? [] : [explained.retryAt(formats.time(Math.max(now, nextRefresh)))];
  switch (condition) {
    case 'starting':
      return [explained.starting];
    case 'filling':
      return [explained.filling];
    case 'waiting':
      return [explained.waitingUntil(formats.time(nextRefresh))];
    case 'refreshing':
      return [age];
    case 'ready':
      return [age, explained.nextAt(formats.time(Math.max(now, nextRefresh)))];
    case 'network_down':
      return [explained.network_down, explained.kept, age, ...again];
    case 'no_judge':
      return [explained.no_judge, explained.kept, age, ...again];
    case 'lists_failing':
      return [explained.lists_failing, age, ...again];
    case 'stale':
      return [explained.stale, age, ...again];
    case 'failed':
      return [
        lastRefresh === null ? explained.firstFailed : explained.lastFailed,
        wordFor(words.proxies.failures, job.error ?? 'internal'),
        ...(lastRefresh === null ? [] : [age]),
        ...again,
      ];
  }
}

/**
 * Renders the state, what the refresh does now or did last, and what else a visitor should know before relying on the
 * list.
 */
export function statePanel(site: Site, freshness: Freshness): Html {
  const { words, formats } = site;
  const { proxies } = words;
  const { adminRequired } = freshness;
  const { refresh: job } = freshness.status;
  const running = job.state === 'running';
  const share = job.candidates > 0 ? job.checked / job.candidates : 0;
  return html`<div class="state-panel" data-state="${job.state}">
<div class="state-head">${poolState(site, freshness)}
<button class="quiet small needs-script" type="button" data-refresh${adminRequired && html` data-admin`}${running && html` disabled`}>${icon('refresh')}<span>${proxies.refreshNow}</span></button></div>
<div class="progress-line"${!running && html` hidden`}><progress max="1" value="${share}" aria-label="${proxies.progress}"></progress>
<p class="small muted">${wordFor(proxies.stages, job.stage ?? '')} · ${proxies.checkedOf(formats.number(job.checked), formats.number(job.candidates))} · ${proxies.foundAlive(formats.number(job.alive))}</p></div>
${partWarnings(site, freshness).map((text) => html`<p class="fault small">${icon('warning')}<span>${text}</span></p>\n`)}</div>`;
}

/** Returns warnings about some of the proxies. */
function partWarnings(site: Site, { status, checkedAt, now }: Freshness): string[] {
  const { condition, judges } = status;
  const { explained } = site.words.proxies;
  if (condition === 'no_judge' || condition === 'network_down') return [];
  const parts = (['http', 'https'] as const)
    .filter((scheme) => judges.schemes[scheme] === 'down')
    .map((scheme) => {
      const at = checkedAt[scheme] ?? null;
      const age = at === null ? '' : ` ${explained.partChecked(site.formats.age(now - at))}`;
      return explained.partJudge[scheme] + age;
    });
  return judges.witnesses.state !== 'down' ? parts : [...parts, explained.unprovable];
}
