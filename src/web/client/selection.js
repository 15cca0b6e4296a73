// @ts-check
import { copyBy } from './copy.js';
import { announce, byId, faultIn, say } from './dom.js';
import { keep, recall } from './kept.js';
import { REPLACED } from './page-parts.js';

const FORMAT_KEY = 'picpool:copy-as';

const list = byId('list', HTMLElement);
const boxes = () =>
  [...list.querySelectorAll('input[name="id"]')].filter((box) => box instanceof HTMLInputElement);
const selected = () => boxes().filter(({ checked }) => checked);
/** @type {Set<string>} */
let ids = new Set();
/** The checkbox that was clicked last, from which a click with Shift extends. */
let anchor = '';

function show() {
  const count = selected().length;
  ids = new Set(selected().map(({ value }) => value));
  const all = list.querySelector('[data-select-all]');
  if (all instanceof HTMLInputElement) {
    all.checked = count > 0 && count === boxes().length;
    all.indeterminate = count > 0 && !all.checked;
  }
  const button = list.querySelector('[data-copy-matches]');
  const label = button?.querySelector('span');
  if (!(button instanceof HTMLElement) || !label) return;
  label.textContent = count === 0 ? (button.dataset.copyMatches ?? '') : say('copySelected', { count });
  button.dataset.label = label.textContent;
}

/** After rows were replaced, keeps the selection of those that remain, and the format. */
function restore() {
  for (const box of boxes()) box.checked = ids.has(box.value);
  const format = list.querySelector('select[name="as"]');
  const remembered = recall(FORMAT_KEY);
  if (format instanceof HTMLSelectElement && remembered !== null) {
    format.value = remembered;
    if (format.selectedIndex < 0) format.selectedIndex = 0;
  }
  show();
}

/**
 * Copies these proxies, or the matches of the filters, in the chosen format.
 * @param {HTMLElement} button
 * @param {readonly string[]} chosen
 */
async function copy(button, chosen) {
  const form = byId('copying', HTMLFormElement);
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (typeof value === 'string' && (name === 'as' || chosen.length === 0)) fields.append(name, value);
  }
  if (chosen.length > 0) fields.set('id', chosen.join(','));
  const text = fetchText(`${form.getAttribute('action')}?${fields}`);
  void copyBy(
    button,
    text.then((copied) => (chosen.length === 1 ? copied.trimEnd() : copied)),
  );
  note(await text.then(() => '', String));
}

/** @param {string} url */
async function fetchText(url) {
  const answer = await fetch(url, { headers: { accept: 'application/json' } }).catch(() => null);
  // A page that something between has sent, such as a login, is not the list, nor is the beginning of one.
  const isList = answer?.ok && answer.headers.get('content-type')?.startsWith('text/plain');
  const text = isList ? await answer.text().catch(() => null) : null;
  if (text !== null) return text;
  throw faultIn(answer?.ok ? 0 : (answer?.status ?? 0), await answer?.json().catch(() => null));
}

/**
 * Says what went wrong, above the list.
 * @param {string} text
 */
export function note(text) {
  const place = byId('copy-note', HTMLElement);
  place.textContent = text;
  place.hidden = text === '';
  if (text !== '') announce(text);
}

list.addEventListener('click', (event) => {
  const { target } = event;
  if (!(target instanceof Element)) return;
  const button = target.closest('[data-copy-row]');
  if (button instanceof HTMLElement) return void copy(button, [button.dataset.copyRow ?? '']);
  if (!(target instanceof HTMLInputElement) || target.name !== 'id') return;
  const all = boxes();
  const from = all.findIndex(({ value }) => value === anchor);
  const to = all.indexOf(target);
  if (event.shiftKey && from >= 0) {
    for (const box of all.slice(Math.min(from, to), Math.max(from, to) + 1)) box.checked = target.checked;
  }
  anchor = target.value;
});

list.addEventListener('change', ({ target }) => {
  if (target instanceof HTMLSelectElement && target.name === 'as') keep(FORMAT_KEY, target.value);
  if (!(target instanceof HTMLInputElement)) return;
  if ('selectAll' in target.dataset) for (const box of boxes()) box.checked = target.checked;
  if ('selectAll' in target.dataset || target.name === 'id') {
    show();
    announce(say('selected', { count: ids.size }));
  }
});

list.addEventListener('keydown', ({ key }) => {
  if (key !== 'Escape' || ids.size === 0) return;
  for (const box of boxes()) box.checked = false;
  show();
  announce(say('selected', { count: 0 }));
});

list.addEventListener('submit', (event) => {
  const { target, submitter } = event;
  // Not by the property `id`, which is a checkbox of that name.
  if (!(target instanceof HTMLFormElement) || !target.matches('#copying')) return;
  event.preventDefault();
  if (submitter) void copy(submitter, [...ids]);
});

document.addEventListener(REPLACED, restore);
restore();
