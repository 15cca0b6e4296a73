// @ts-check
import { copyBy } from './copy.js';
import { announce, ask, byId } from './dom.js';
import { replaceParts } from './results.js';

/**
 * A refresh as the server tells it.
 * @typedef {{ name: string, state: string, found: number, fresh: number, checked: number, alive: number }} Source
 * @typedef {{ id: string, state: string, stage: string | null, candidates: number, checked: number, sources: Source[] } & Record<string, unknown>} Job
 */

const api = document.querySelector('[data-api]')?.getAttribute('data-api') ?? '/api/';

document.addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest('button') : null;
  if (!button) return;
  const { test, copyLines } = button.dataset;
  if (test !== undefined) void testNow(button, test);
  else if (copyLines !== undefined) void copyBy(button, fetchText(copyLines));
  else if ('refresh' in button.dataset) void startRefresh(button);
});

/** @param {string} path */
async function fetchText(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.text();
}

/**
 * @param {HTMLButtonElement} button
 * @param {string} body
 */
async function testNow(button, body) {
  const result = button.parentElement?.querySelector('.result');
  if (!(result instanceof HTMLElement)) return;
  button.disabled = true;
  result.className = 'result muted';
  result.textContent = 'Testing …';
  const headers = { 'content-type': 'application/json' };
  const { body: outcome, fault } = await ask(`${api}test_proxy_quick`, { method: 'POST', headers, body });
  result.className = `result ${fault === null && outcome.alive ? 'good' : 'bad'}`;
  if (fault !== null) result.textContent = fault;
  else if (outcome.alive) result.textContent = `Alive, ${outcome.response_time} ms`;
  else result.textContent = `Dead: ${outcome.error.replaceAll('_', ' ')}`;
  button.disabled = false;
  button.focus();
}

/** @param {HTMLButtonElement} button */
async function startRefresh(button) {
  button.disabled = true;
  const { body, fault } = await ask(`${api}refresh`, { method: 'POST' });
  const obstacle = fault ?? (body.job.state === 'done' ? 'Refreshed a moment ago' : null);
  announce(obstacle ?? 'The refresh has started.');
  if (obstacle === null) return;
  button.disabled = false;
  button.textContent = obstacle;
}

let shown = {
  id: '',
  state: byId('refresh', HTMLElement).querySelector('[data-state]')?.getAttribute('data-state'),
};

/** @param {Job} job */
async function show(job) {
  const ended = shown.state === 'running' && job.state !== 'running';
  const began = shown.state !== 'running' && job.state === 'running';
  shown = { id: job.id, state: job.state };
  // What the server renders is asked for where the page changes its shape; in between only numbers change.
  if (began) await replaceParts(location.href, ['refresh', 'sources']);
  if (ended) {
    const results = byId('results', HTMLElement);
    const isUsed = results.contains(document.activeElement);
    await replaceParts(location.href, ['refresh', 'sources', 'overview', ...(isUsed ? [] : ['results'])]);
    announce('The refresh has ended.');
  }
  if (job.state === 'running') showNumbers(job);
}

/** @param {Job} job */
function showNumbers(job) {
  const panel = byId('refresh', HTMLElement);
  for (const element of panel.querySelectorAll('[data-job]')) {
    element.textContent = Number(job[element.getAttribute('data-job') ?? '']).toLocaleString('en-US');
  }
  const progress = panel.querySelector('progress');
  if (progress) progress.value = job.candidates > 0 ? job.checked / job.candidates : 0;
  let past = true;
  for (const stage of panel.querySelectorAll('[data-stage]')) {
    const isNow = stage.getAttribute('data-stage') === job.stage;
    if (isNow) past = false;
    stage.className = isNow ? 'now' : past ? 'past' : '';
    if (isNow) stage.setAttribute('aria-current', 'step');
    else stage.removeAttribute('aria-current');
  }
  const rows = new Map(
    [...document.querySelectorAll('tr[data-source]')].map((row) => [row.getAttribute('data-source'), row]),
  );
  for (const source of job.sources ?? []) {
    for (const cell of rows.get(source.name)?.querySelectorAll('[data-field]') ?? []) {
      const value = /** @type {Record<string, unknown>} */ (source)[cell.getAttribute('data-field') ?? ''];
      cell.textContent = typeof value === 'number' ? value.toLocaleString('en-US') : String(value);
    }
  }
}

/** @type {EventSource | null} */
let events = null;
/** Events are taken one after the other, though some wait for the server. */
let showing = Promise.resolve();

/** A page that nobody looks at holds no connection. */
function listen() {
  events?.close();
  events = document.hidden ? null : new EventSource(`${api}refresh/events`);
  events?.addEventListener('progress', ({ data }) => {
    showing = showing.then(() => show(JSON.parse(data)));
  });
}
document.addEventListener('visibilitychange', listen);
addEventListener('pagehide', () => events?.close());
listen();
