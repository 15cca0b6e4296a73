// @ts-check
import { announce, byId, make } from './dom.js';
import { showInPlace } from './page-parts.js';

const PAUSE_MS = 250;

/**
 * Shows another state of the page in place, or what went wrong above its results.
 * @param {string} url
 * @param {readonly string[]} ids of the parts that change
 */
export async function go(url, ids) {
  const fault = await showInPlace(url, ids);
  const results = byId('results', HTMLElement);
  results.querySelector('.banner')?.remove();
  if (fault !== null) results.prepend(make('p', { class: 'banner bad' }, fault));
  if (fault !== null || ids.includes('results'))
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
  return form.action.split(/[?#]/)[0] + (query === '' ? '' : `?${query}`);
}

const form = document.querySelector('form[data-results]');
if (form instanceof HTMLFormElement) {
  const ids = (form.dataset.results ?? '').split(' ');
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const apply = () => {
    clearTimeout(timer);
    const url = urlOf(form);
    history.replaceState(null, '', url);
    void go(url, ids);
  };
  form.addEventListener('input', ({ target }) => {
    clearTimeout(timer);
    const isTyped = target instanceof HTMLInputElement && target.type !== 'checkbox';
    timer = setTimeout(apply, isTyped ? PAUSE_MS : 0);
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    apply();
  });
  const asLoaded = /** @type {HTMLFormElement} */ (form.cloneNode(true));
  asLoaded.reset();
  // Entered before this script was loaded.
  if (urlOf(form) !== urlOf(asLoaded)) apply();
}
