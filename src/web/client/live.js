// @ts-check
import { announce, ask, byId, readableNumber, say } from './dom.js';
import { keep, recall } from './kept.js';
import { fetchPage, replaceFrom } from './page-parts.js';
import { path, updateRows } from './proxies.js';
import { go } from './results.js';

/**
 * A refresh as the server reports it.
 * @typedef {{ name: string, state: string, found: number, fresh: number, alive: number }} Source
 * @typedef {{ id: string, state: string, stage: string | null, candidates: number, checked: number, alive: number,
 * sources: Source[] }} Job
 */

const api = document.querySelector('[data-api]')?.getAttribute('data-api') ?? '/api/';
/** Rows are requested at most this often, however much changes in the pool. */
const ROWS_EVERY_MS = 10_000;

let rowsAt = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let rowsLater;

/** Updates the rows. An empty list is requested again. */
async function refreshRows() {
  clearTimeout(rowsLater);
  const wait = rowsAt + ROWS_EVERY_MS - Date.now();
  if (wait > 0) {
    rowsLater = setTimeout(refreshRows, wait);
    return;
  }
  rowsAt = Date.now();
  const ids = [...document.querySelectorAll('tr[data-id]')].map((row) => row.getAttribute('data-id'));
  if (ids.length === 0) return go(location.href, ['results', 'flags']);
  await fetchPage(`${path}?id=${ids.join(',')}`).then(updateRows, () => {});
}

const TOKEN_KEY = 'picpool:admin-token';

/**
 * Sends a POST, as the administrator if required.
 * @param {string} url
 * @param {boolean} isAdmin
 */
async function postAs(url, isAdmin) {
  if (!isAdmin) return ask(url, { method: 'POST' });
  const token = recall(TOKEN_KEY, 'sessionStorage') ?? (await askToken());
  const answer = await ask(url, { method: 'POST', headers: { authorization: `Bearer ${token}` } });
  keep(TOKEN_KEY, answer.status === 401 ? null : token, 'sessionStorage');
  return answer;
}

/** @returns {Promise<string>} */
function askToken() {
  const dialog = byId('admin', HTMLDialogElement);
  const field = byId('admin-token', HTMLInputElement);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener(
      'close',
      () => {
        resolve(field.value);
        field.value = '';
      },
      { once: true },
    );
  });
}

/** @param {HTMLButtonElement} button */
async function startRefresh(button) {
  button.disabled = true;
  const { body, fault } = await postAs(`${api}refresh`, 'admin' in button.dataset);
  const obstacle = fault ?? (body.job.state === 'done' ? say('refreshedRecently') : null);
  announce(obstacle ?? say('refreshStarted'));
  if (obstacle === null) return;
  button.disabled = false;
  const label = button.querySelector('span');
  if (label) label.textContent = obstacle;
}

/**
 * @param {HTMLButtonElement} button
 * @param {string} url
 */
async function retry(button, url) {
  button.disabled = true;
  const { fault } = await postAs(url, 'admin' in button.dataset);
  button.disabled = fault === null;
  button.textContent = fault ?? say('retried');
  announce(button.textContent);
}

document.addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest('button') : null;
  if (!button) return;
  if ('refresh' in button.dataset) void startRefresh(button);
  else if (button.dataset.retry !== undefined) void retry(button, button.dataset.retry);
});

const stateShown = () => byId('state', HTMLElement).querySelector('[data-state]')?.getAttribute('data-state');
let shown = stateShown();

/** @param {Job} job */
async function show(job) {
  const ended = shown === 'running' && job.state !== 'running';
  const began = shown !== 'running' && job.state === 'running';
  shown = job.state;
  // What the server renders is requested again if the structure of the page changes; otherwise only numbers change.
  if (began || ended) {
    const page = await fetchPage(location.href).catch(() => null);
    const isEmpty = document.querySelector('tr[data-id]') === null;
    const parts = [
      'state',
      'sources',
      ...(ended ? ['numbers', 'overview', 'flags', ...(isEmpty ? ['results'] : [])] : []),
    ];
    if (page) replaceFrom(page, parts);
    if (ended) announce(say('refreshEnded'));
    if (ended && !isEmpty) {
      void refreshRows();
      const note = document.querySelector('[data-reload]');
      if (note instanceof HTMLElement) note.hidden = false;
    }
  }
  if (job.state === 'running') showProgress(job);
}

/** @param {Job} job */
function showProgress(job) {
  const panel = byId('state', HTMLElement);
  const bar = panel.querySelector('progress');
  if (bar) bar.value = job.candidates > 0 ? job.checked / job.candidates : 0;
  const stage = panel.querySelector('[data-stages]');
  if (stage instanceof HTMLElement) {
    stage.textContent = JSON.parse(stage.dataset.stages ?? '{}')[job.stage ?? ''] ?? '';
  }
  const counts = panel.querySelector('[data-counts]');
  if (counts instanceof HTMLElement) {
    counts.textContent = (counts.dataset.counts ?? '').replace(/\{(\w+)\}/g, (_, name) =>
      readableNumber(Number(/** @type {Record<string, unknown>} */ (job)[name])),
    );
  }
  for (const source of job.sources) showSource(source);
}

/** @param {Source} source */
function showSource(source) {
  const row = document.querySelector(`tr[data-source="${CSS.escape(source.name)}"]`);
  const states = JSON.parse(row?.closest('table')?.getAttribute('data-states') ?? '{}');
  for (const cell of row?.querySelectorAll('[data-field]') ?? []) {
    const value = /** @type {Record<string, unknown>} */ (source)[cell.getAttribute('data-field') ?? ''];
    cell.textContent = typeof value === 'number' ? readableNumber(value) : (states[String(value)] ?? '');
  }
}

/** @param {Record<string, number>} stats */
function showStats(stats) {
  for (const element of document.querySelectorAll('[data-stat]')) {
    const value = stats[element.getAttribute('data-stat') ?? ''];
    if (value !== undefined && value > 0) element.textContent = readableNumber(Math.round(value));
  }
  void refreshRows();
}

/** @type {EventSource | null} */
let events = null;
/** Events are handled in order, although some wait for the server. */
let showing = Promise.resolve();

/** After an error response, browsers do not reconnect on their own. */
const RETRY_MS = 3000;

/** @type {ReturnType<typeof setTimeout> | undefined} */
let listenLater;

function lost() {
  byId('lost', HTMLElement).hidden = false;
  if (events?.readyState === EventSource.CLOSED) listenLater = setTimeout(listen, RETRY_MS);
}

/** Requests what has happened meanwhile. */
async function back() {
  const note = byId('lost', HTMLElement);
  if (note.hidden) return;
  note.hidden = true;
  const page = await fetchPage(location.href).catch(() => null);
  if (!page) return;
  replaceFrom(page, ['state', 'sources', 'numbers', 'overview', 'flags']);
  shown = stateShown();
  rowsAt = 0;
  void refreshRows();
}

/** A hidden page holds no connection. */
function listen() {
  clearTimeout(listenLater);
  events?.close();
  events = document.hidden ? null : new EventSource(`${api}refresh/events?pool=true`);
  events?.addEventListener('progress', ({ data }) => {
    showing = showing.then(() => show(JSON.parse(data)));
  });
  events?.addEventListener('pool', ({ data }) => showStats(JSON.parse(data)));
  events?.addEventListener('error', lost);
  events?.addEventListener('open', back);
}
document.addEventListener('visibilitychange', listen);
addEventListener('pagehide', () => events?.close());
listen();
