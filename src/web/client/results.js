// @ts-check
import { announce, byId, make } from './dom.js';
import { showInPlace } from './page-parts.js';

const PAUSE_MS = 250;

/**
 * @param {string} url
 * @param {string[]} ids of the parts
 */
async function show(url, ids) {
  const fault = await showInPlace(url, ids);
  const results = byId(ids[0] ?? '', HTMLElement);
  results.querySelector('.banner')?.remove();
  if (fault !== null) results.prepend(make('p', { class: 'banner bad' }, fault));
  announce(fault ?? results.querySelector('[data-summary]')?.textContent ?? '');
}

/**
 * Returns the URL of a filter form, without empty fields.
 * @param {HTMLFormElement} form
 */
function urlOf(form) {
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (typeof value === 'string' && value.trim() !== '') fields.append(name, value);
  }
  const query = fields.toString();
  return form.action.split('?')[0] + (query === '' ? '' : `?${query}`);
}

const form = document.querySelector('form[data-results]');
if (form instanceof HTMLFormElement) {
  const ids = (form.dataset.results ?? '').split(' ');
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const apply = () => {
    clearTimeout(timer);
    if (!form.checkValidity()) return;
    const url = urlOf(form);
    history.replaceState(null, '', url);
    void show(url, ids);
  };
  form.addEventListener('input', ({ target }) => {
    clearTimeout(timer);
    timer = setTimeout(apply, target instanceof HTMLSelectElement ? 0 : PAUSE_MS);
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    apply();
  });
}
