// @ts-check
import { announce, byId, say } from './dom.js';
import { fetchPage, REPLACED } from './page-parts.js';
import { go } from './results.js';
import { note } from './selection.js';

const filters = byId('filters', HTMLFormElement);
export const path = filters.dataset.path ?? location.pathname;
/** Parts that change with the filters. */
const LIST_PARTS = (filters.dataset.results ?? '').split(' ');

/** Sets the fields to the values in the page's URL. */
function readFilters() {
  const params = new URLSearchParams(location.search);
  for (const field of filters.elements) {
    if (!(field instanceof HTMLInputElement || field instanceof HTMLSelectElement)) continue;
    const value = params.getAll(field.name).join();
    if (field.type !== 'checkbox') field.value = value;
    else if ('checked' in field) field.checked = value.split(',').includes(field.value);
    if (!('selectedIndex' in field) || field.selectedIndex >= 0) continue;
    // One that was not offered when the page was loaded would be lost with the next change of another field.
    if (/^(country|source)$/.test(field.name)) field.add(new Option(value, value, true, true));
    else field.selectedIndex = 0;
  }
}

/** Marks fields whose value was rejected. */
document.addEventListener(REPLACED, () => {
  for (const field of filters.querySelectorAll('input, select')) {
    const problem = `problem-${field.getAttribute('name')}`;
    const isWrong = document.getElementById(problem) !== null;
    field.ariaInvalid = isWrong ? 'true' : null;
    if (isWrong) field.setAttribute('aria-describedby', problem);
    else field.removeAttribute('aria-describedby');
  }
});

/**
 * Follows links to other states of this page in place. A new page of the list is scrolled to its first row.
 * @param {MouseEvent} event
 * @param {HTMLAnchorElement} link
 */
function follow(event, link) {
  const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
  let url = new URL(link.href);
  if (!isPlain || url.pathname !== path || !link.closest('#list, #overview')) return;
  event.preventDefault();
  const range = 'range' in link.dataset;
  const parts = range ? [...LIST_PARTS, 'overview'] : LIST_PARTS;
  const { remove = range ? 'range' : undefined } = link.dataset;
  // Changes made since this part of the page was loaded are kept.
  if (remove !== undefined) {
    const value = url.searchParams.get(remove);
    url = new URL(location.href);
    url.searchParams.delete(remove);
    if (value !== null) url.searchParams.set(remove, value);
    if (!range) url.searchParams.delete('page');
  }
  url.hash = '';
  history.pushState(null, '', url);
  readFilters();
  void go(url.href, parts).then(() => {
    const list = byId(link.closest('.pagination') ? 'results' : 'list', HTMLElement);
    const isAbove = list.getBoundingClientRect().top < 0;
    if (!range && (isAbove || link.closest('#overview'))) list.scrollIntoView();
  });
}
addEventListener('popstate', () => {
  readFilters();
  void go(location.href, [...LIST_PARTS, 'overview']);
});

document.addEventListener('click', (event) => {
  const { target } = event;
  if (!(target instanceof Element)) return;
  const link = target.closest('a');
  if (link) return follow(event, link);
  if (target.closest('[data-reload]')) void go(location.href, LIST_PARTS);
});

document.addEventListener('submit', (event) => {
  const { target, submitter } = event;
  // Not by the property `id`, which is a button of that name.
  if (!(target instanceof HTMLFormElement) || !target.matches('#testing')) return;
  event.preventDefault();
  if (submitter instanceof HTMLButtonElement) void testNow(target.action, submitter);
});

/**
 * Tests a proxy, and updates its row.
 * @param {string} action
 * @param {HTMLButtonElement} button
 */
async function testNow(action, button) {
  if (button.getAttribute('aria-disabled') === 'true') return;
  const label = button.textContent;
  button.setAttribute('aria-disabled', 'true');
  button.textContent = say('testing');
  const body = new URLSearchParams({ id: button.value });
  try {
    const page = await fetchPage(action, { method: 'POST', body, headers: { accept: 'application/json' } });
    updateRows(page);
    note('');
    const row = document.getElementById(`p-${button.value}`);
    const [address, latency] = ['.address', '.latency'].map((name) => row?.querySelector(name)?.textContent);
    if (row) announce(`${address}: ${latency}`);
  } catch (error) {
    note(error instanceof Error ? error.message : String(error));
  }
  button.removeAttribute('aria-disabled');
  button.textContent = label;
}

/**
 * Updates the visible rows from another page, without moving any.
 * @param {Document} page
 */
export function updateRows(page) {
  const flags = byId('flags', HTMLElement);
  for (const symbol of page.querySelectorAll('#flags symbol')) {
    if (!document.getElementById(symbol.id)) flags.firstElementChild?.append(symbol);
  }
  for (const fresh of page.querySelectorAll('tr[data-id]')) {
    const row = document.getElementById(fresh.id);
    if (!row) continue;
    row.className = fresh.className;
    for (const [index, cell] of [...fresh.children].entries()) {
      const shown = row.children[index];
      // Cells that can be selected or pressed stay unchanged.
      if (!shown || shown.matches('.select-cell, .row-end') || shown.innerHTML === cell.innerHTML) continue;
      shown.replaceChildren(...cell.childNodes);
    }
  }
}
