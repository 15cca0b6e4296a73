// @ts-check
import { announce, byId, make } from './dom.js';
import { fetchPage, replaceFrom } from './page-parts.js';

const PAUSE_MS = 250;

/** @type {AbortController | null} */
let asking = null;

/**
 * Shows another state of this page in place. Of concurrent calls only the latest counts.
 * @param {string} url
 * @param {string[]} ids of the parts
 */
async function replaceParts(url, ids) {
  asking?.abort();
  const current = new AbortController();
  asking = current;
  const part = byId(ids[0] ?? '', HTMLElement);
  part.setAttribute('aria-busy', 'true');
  try {
    replaceFrom(await fetchPage(url, { signal: current.signal }), ids);
    announce(part.querySelector('[data-summary]')?.textContent ?? '');
  } catch (error) {
    if (current.signal.aborted) return;
    const text = error instanceof Error ? error.message : String(error);
    announce(text);
    part.querySelector('.banner')?.remove();
    part.prepend(make('p', { class: 'banner bad' }, text));
  }
  part.removeAttribute('aria-busy');
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
  const show = () => {
    clearTimeout(timer);
    if (!form.checkValidity()) return;
    const url = urlOf(form);
    history.replaceState(null, '', url);
    void replaceParts(url, ids);
  };
  form.addEventListener('input', ({ target }) => {
    clearTimeout(timer);
    timer = setTimeout(show, target instanceof HTMLSelectElement ? 0 : PAUSE_MS);
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    show();
  });
}
