// @ts-check
import { make, readableBytes } from './dom.js';

const MOST_SHOWN = 20_000;

for (const form of document.querySelectorAll('form.try')) {
  if (form instanceof HTMLFormElement) form.addEventListener('submit', (event) => void send(event, form));
}

/**
 * @param {Event} event
 * @param {HTMLFormElement} form
 */
async function send(event, form) {
  event.preventDefault();
  const output = /** @type {HTMLElement} */ (form.querySelector('.try-answer'));
  output.replaceChildren(make('p', { class: 'muted' }, 'Sent; waiting for the answer …'));
  const startedAt = performance.now();
  try {
    const { url, init } = requestOf(form);
    const answer = await fetch(url, init);
    const ms = Math.round(performance.now() - startedAt);
    const shown = await show(answer);
    output.replaceChildren(
      make(
        'p',
        {},
        make('span', { class: `status s${String(answer.status)[0]}` }, String(answer.status)),
        ` in ${ms} ms, ${answer.headers.get('content-type') ?? 'without a body'}`,
      ),
      shown,
    );
  } catch (error) {
    output.replaceChildren(
      make('p', { class: 'fault' }, `Not sent: ${error instanceof Error ? error.message : error}`),
    );
  }
}

/** @param {HTMLFormElement} form */
function requestOf(form) {
  const { method = 'GET', path = '', type } = form.dataset;
  const query = new URLSearchParams();
  const fields = new FormData();
  const headers = new Headers();
  let target = path;
  for (const control of form.elements) {
    if (!(control instanceof HTMLInputElement || control instanceof HTMLSelectElement)) continue;
    const { name, value } = control;
    const place = control.dataset.in;
    const file = control instanceof HTMLInputElement ? control.files?.[0] : undefined;
    if (value === '') continue;
    if (place === 'path') target = target.replace(`{${name}}`, encodeURIComponent(value));
    else if (place === 'query') query.append(name, value);
    else if (place === 'header') headers.set(name, value);
    else if (file) fields.set(name, file);
    else fields.set(name, value);
  }
  /** @type {RequestInit} */
  const init = { method, headers };
  const text = form.querySelector('textarea')?.value;
  if (text !== undefined) {
    headers.set('content-type', 'application/json');
    init.body = text;
  } else if (type === 'multipart/form-data') init.body = fields;
  else if (type !== undefined) {
    init.body = new URLSearchParams([...fields].map(([name, value]) => [name, String(value)]));
  }
  const search = query.toString();
  return { url: search === '' ? target : `${target}?${search}`, init };
}

/** @param {Response} answer */
async function show(answer) {
  const type = answer.headers.get('content-type') ?? '';
  const blob = await answer.blob();
  if (type.startsWith('image/'))
    return make('img', { src: URL.createObjectURL(blob), alt: 'The picture that was answered' });
  const text = await blob.text();
  const pretty = type.startsWith('application/json') ? JSON.stringify(JSON.parse(text), null, 2) : text;
  const cut =
    pretty.length > MOST_SHOWN ? `${pretty.slice(0, MOST_SHOWN)}\n… of ${readableBytes(blob.size)}` : pretty;
  return make('pre', { tabindex: '0', 'aria-label': 'Answer' }, make('code', {}, cut));
}
