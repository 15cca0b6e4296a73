// @ts-check
import { announce, byId, faultIn } from './dom.js';

const PAUSE_MS = 250;

/** @type {AbortController | null} */
let asking = null;

/**
 * Fetches another state of this page and replaces parts by it, because only the server renders them.
 * @param {string} url
 * @param {string[]} ids of the parts
 */
export async function replaceParts(url, ids) {
  asking?.abort();
  const current = new AbortController();
  asking = current;
  const parts = ids.map((id) => byId(id, HTMLElement));
  for (const part of parts) part.setAttribute('aria-busy', 'true');
  try {
    const answer = await fetch(url, { headers: { accept: 'text/html' }, signal: current.signal });
    if (!answer.ok) throw new Error(faultIn(answer.status, null));
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const part of parts) {
      part.replaceChildren(...(page.getElementById(part.id)?.childNodes ?? []));
    }
    document.dispatchEvent(new Event('replaced'));
    announce(byId(ids[0] ?? '', HTMLElement).querySelector('[data-summary]')?.textContent ?? '');
  } catch (error) {
    if (current.signal.aborted) return;
    const text =
      error instanceof TypeError ? faultIn(0, null) : String(error instanceof Error ? error.message : error);
    announce(text);
    const note = document.createElement('p');
    note.className = 'banner bad';
    note.textContent = text;
    parts[0]?.prepend(note);
  }
  for (const part of parts) part.removeAttribute('aria-busy');
}

/**
 * Returns the URL of a filter form, without empty fields.
 * @param {HTMLFormElement} form
 */
export function urlOf(form) {
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
