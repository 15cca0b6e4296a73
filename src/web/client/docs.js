// @ts-check
import { byId, make, readableBytes, say } from './dom.js';
import { keep, recall, TOKEN_KEY } from './kept.js';

/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Control */

const MOST_SHOWN = 20_000;

const token = byId('docs-token', HTMLInputElement);
token.value = recall(TOKEN_KEY, 'sessionStorage') ?? '';
token.addEventListener('input', () => keep(TOKEN_KEY, token.value.trim(), 'sessionStorage'));
addEventListener('hashchange', reveal);
for (const form of document.querySelectorAll('form.try')) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(/** @type {HTMLFormElement} */ (form));
  });
}
reveal();

/** Opens the target of the link, for browsers that do not, and scrolls there again, because opening has moved it. */
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target?.closest('details')) return;
  for (const fold of document.querySelectorAll('details')) if (fold.contains(target)) fold.open = true;
  if (target.getBoundingClientRect().top < 0 || target.getBoundingClientRect().top > innerHeight)
    target.scrollIntoView();
}

/**
 * Returns the request of the form.
 * @param {HTMLFormElement} form
 * @returns {{ url: string, init: RequestInit }}
 */
function requestOf(form) {
  const { method = 'GET', path = '', type } = form.dataset;
  const controls = /** @type {Control[]} */ ([...form.elements].filter((one) => 'name' in one && one.name));
  /** @param {string} place */
  const at = (place) => controls.filter(({ dataset }) => dataset.in === place);
  /** @param {string} place @returns {[string, string][]} */
  const filled = (place) => at(place).flatMap(({ name, value }) => (value === '' ? [] : [[name, value]]));
  const url = at('path').reduce(
    (url, { name, value }) => url.replace(`{${name}}`, encodeURIComponent(value)),
    path,
  );
  const query = new URLSearchParams(filled('query'));
  const headers = new Headers(filled('header'));
  const bearer = token.value.trim();
  if (bearer !== '') headers.set('authorization', `Bearer ${bearer}`);
  /** @type {RequestInit} */
  const init = { method, headers };
  const text = form.querySelector('textarea')?.value;
  if (text !== undefined) {
    headers.set('content-type', 'application/json');
    init.body = text;
  } else if (type === 'multipart/form-data') {
    const body = new FormData();
    for (const field of at('body')) {
      const file = field instanceof HTMLInputElement ? field.files?.[0] : undefined;
      if (field.value !== '') body.set(field.name, file ?? field.value);
    }
    init.body = body;
  } else if (type !== undefined) init.body = new URLSearchParams(filled('body'));
  return { url: query.size > 0 ? `${url}?${query}` : url, init };
}

/** @param {HTMLFormElement} form */
async function send(form) {
  const output = /** @type {HTMLElement} */ (form.querySelector('.try-answer'));
  output.replaceChildren(make('p', { class: 'muted' }, say('sending')));
  const startedAt = performance.now();
  try {
    const { url, init } = requestOf(form);
    const answer = await fetch(url, init);
    const ms = Math.round(performance.now() - startedAt);
    const type = answer.headers.get('content-type') ?? say('noBody');
    const facts = say('answered', { status: answer.status, ms, type });
    const shown = await show(answer);
    output.replaceChildren(make('p', { class: `status s${String(answer.status)[0]}` }, facts), shown);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    output.replaceChildren(make('p', { class: 'fault' }, say('notSent', { why })));
  }
}

/** @param {Response} answer */
async function show(answer) {
  const type = answer.headers.get('content-type') ?? '';
  const blob = await answer.blob();
  if (type.startsWith('image/')) return make('img', { src: URL.createObjectURL(blob), alt: say('picture') });
  const text = await blob.text();
  const pretty = type.startsWith('application/json') ? JSON.stringify(JSON.parse(text), null, 2) : text;
  const cut =
    pretty.length > MOST_SHOWN
      ? `${pretty.slice(0, MOST_SHOWN)}\n${say('cut', { size: readableBytes(blob.size) })}`
      : pretty;
  return make('pre', { tabindex: '0', 'aria-label': say('response') }, make('code', {}, cut));
}
