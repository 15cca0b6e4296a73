// @ts-check
import { announce, ask, byId, readableNumber, say } from './dom.js';
import { keep, recall } from './kept.js';
import { fetchPage, replaceFrom } from './page-parts.js';
import { path, updateRows } from './proxies.js';
import { go } from './results.js';

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
 * Sends a POST, as the administrator if required. Resolves with `null` if the visitor enters no token.
 * @param {string} url
 * @param {boolean} isAdmin
 */
async function postAs(url, isAdmin) {
  if (!isAdmin) return ask(url, { method: 'POST' });
  const token = recall(TOKEN_KEY, 'sessionStorage') ?? (await askToken());
  if (token === '') return null;
  const answer = await ask(url, { method: 'POST', headers: { authorization: `Bearer ${token}` } });
  keep(TOKEN_KEY, answer.status === 401 ? null : token, 'sessionStorage');
  return answer;
}

/** @returns {Promise<string>} empty if the visitor has closed the dialog without one */
async function askToken() {
  const dialog = byId('admin', HTMLDialogElement);
  const field = byId('admin-token', HTMLInputElement);
  dialog.returnValue = '';
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener('close', resolve, { once: true }));
  const token = dialog.returnValue === '' ? '' : field.value;
  field.value = '';
  return token;
}

/** @param {HTMLButtonElement} button */
async function startRefresh(button) {
  button.disabled = true;
  const answer = await postAs(`${api}refresh`, 'admin' in button.dataset);
  button.disabled = answer !== null;
  if (answer === null) return;
  const { body, fault } = answer;
  const obstacle = fault ?? (body.job.state === 'done' ? say('refreshedRecently') : null);
  announce(obstacle ?? say('refreshStarted'));
  if (obstacle === null) return;
  button.disabled = false;
  const label = button.querySelector('span');
  if (label) label.textContent = obstacle;
}

document.addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest('button') : null;
  if (button && 'refresh' in button.dataset) void startRefresh(button);
});

const stateShown = () => byId('state', HTMLElement).querySelector('[data-state]')?.getAttribute('data-state');
let shown = stateShown();

/** What a refresh changes besides the rows. */
const LIVE_PARTS = ['state', 'sources', 'numbers', 'overview', 'flags'];

/**
 * Replaces parts of the page by what they are now. The visitor may go on to other filters meanwhile.
 * @param {readonly string[]} ids
 */
async function renew(ids) {
  const { href } = location;
  const page = await fetchPage(href).catch(() => null);
  if (location.href !== href) return renew(ids);
  if (page) replaceFrom(page, ids, true);
}

/** While a refresh runs, what it does is requested this often. */
const PROGRESS_EVERY_MS = 2000;
let progressAt = 0;

/**
 * Shows what a refresh does. Only the server renders it.
 * @param {{ state: string }} job
 */
async function show(job) {
  const ended = shown === 'running' && job.state !== 'running';
  const isNew = shown !== job.state;
  shown = job.state;
  if (!isNew && (job.state !== 'running' || Date.now() < progressAt + PROGRESS_EVERY_MS)) return;
  progressAt = Date.now();
  await renew(ended ? LIVE_PARTS : ['state', 'sources']);
  if (!ended) return;
  announce(say('refreshEnded'));
  rowsAt = 0;
  void refreshRows();
  const note = document.querySelector('[data-reload]');
  if (note instanceof HTMLElement) note.hidden = false;
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
/** Whether something may have happened of which no event came. */
let isBehind = false;

/** After an error response, browsers do not reconnect on their own. */
const RETRY_MS = 3000;

/** @type {ReturnType<typeof setTimeout> | undefined} */
let listenLater;

function lost() {
  isBehind = true;
  byId('lost', HTMLElement).hidden = false;
  if (events?.readyState === EventSource.CLOSED) listenLater = setTimeout(listen, RETRY_MS);
}

/** Requests what has happened meanwhile. */
async function back() {
  byId('lost', HTMLElement).hidden = true;
  if (!isBehind) return;
  isBehind = false;
  await renew(LIVE_PARTS);
  shown = stateShown();
  rowsAt = 0;
  void refreshRows();
}

/** A hidden page holds no connection. */
function listen() {
  clearTimeout(listenLater);
  events?.close();
  isBehind ||= document.hidden;
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
