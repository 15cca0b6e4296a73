// @ts-check
import { byId, make, say } from './dom.js';
import { faultOfForm } from './faults.js';
import { keep, recall, TOKEN_KEY } from './kept.js';
import { album, LinkedFile } from './sending.js';
import { addFiles } from './upload-list.js';

const form = byId('upload', HTMLFormElement);
const input = byId('file', HTMLInputElement);
const zone = /** @type {HTMLElement} */ (form.querySelector('.dropzone'));
const held = byId('held', HTMLElement);

/** Present if uploading needs a token. */
const token = form.querySelector('#token');
if (token instanceof HTMLInputElement) {
  // Without a script, nothing can send it.
  token.required = true;
  // It may have been entered before this script was loaded.
  token.value ||= recall(TOKEN_KEY) ?? '';
  const remember = () => keep(TOKEN_KEY, token.value.trim() || null);
  token.addEventListener('change', remember);
  remember();
}

/** Guests choose nothing. */
const visibility = document.getElementById('visibility');
visibility?.addEventListener('change', () => {
  // The server keeps it in a cookie, which also counts for what is shared with the installed app.
  const { action } = /** @type {HTMLFormElement} */ (document.querySelector('form.preferences'));
  const body = new URLSearchParams({ audience: /** @type {HTMLSelectElement} */ (visibility).value });
  void fetch(action, { method: 'POST', body, redirect: 'manual', keepalive: true }).catch(() => {});
});
if (album) {
  const name = album.title || say('pictures', { count: album.count });
  const link = make('a', { href: album.url }, say('goesToAlbum', { name }));
  form.prepend(make('p', { class: 'banner' }, link));
} else if (new URLSearchParams(location.search).has('album')) {
  form.prepend(make('p', { class: 'banner bad' }, say('albumUnknown')));
}

/** Files that wait until the form is valid. @type {File[]} */
let waiting = [];

/**
 * @param {Iterable<File>} files
 * @param {boolean} [pasted]
 */
function take(files, pasted = false) {
  waiting.push(...files);
  if (waiting.length === 0) return;
  const fault = faultOfForm(form);
  held.hidden = fault === null;
  if (fault) return point(...fault);
  addFiles(form, waiting, pasted);
  waiting = [];
}

/**
 * Shows what is wrong with a field.
 * @param {HTMLInputElement} field
 * @param {string} words empty if the browser knows it
 */
function point(field, words) {
  held.textContent = say('held', { count: waiting.length });
  const fold = field.closest('details');
  if (fold) fold.open = true;
  field.setCustomValidity(words);
  field.addEventListener('input', () => field.setCustomValidity(''), { once: true });
  field.reportValidity();
}

function takeChosen() {
  take(input.files ?? []);
  input.value = '';
}
input.addEventListener('change', takeChosen);
// Chosen before this script was loaded.
takeChosen();
form.addEventListener('change', ({ target }) => target !== input && waiting.length > 0 && take([]));
form.addEventListener('submit', (event) => event.preventDefault());

/** Returns what the server is to fetch, if that is an address. @param {string} text @returns {File[]} */
function linked(text) {
  const isLink = form.dataset.fromUrl !== undefined && /^https?:\/\/\S+$/i.test(text) && URL.canParse(text);
  return isLink ? [new LinkedFile(text)] : [];
}

/** Links may be meant for a field. @param {DragEvent} event */
function isTaken({ dataTransfer, target }) {
  const types = dataTransfer?.types ?? [];
  const isForZone = form.dataset.fromUrl !== undefined && zone.contains(/** @type {Node} */ (target));
  return types.includes('Files') || (isForZone && types.includes('text/uri-list'));
}
document.addEventListener('dragover', (event) => {
  const isOver = isTaken(event);
  zone.classList.toggle('over', isOver);
  if (isOver) event.preventDefault();
});
document.addEventListener('dragleave', ({ relatedTarget }) => {
  if (relatedTarget === null) zone.classList.remove('over');
});
document.addEventListener('drop', (event) => {
  if (!event.dataTransfer || !isTaken(event)) return;
  event.preventDefault();
  zone.classList.remove('over');
  const { files } = event.dataTransfer;
  take(files.length > 0 ? files : linked(event.dataTransfer.getData('URL')));
});
document.addEventListener('paste', ({ clipboardData, target }) => {
  const text = clipboardData?.getData('text/plain').trim() ?? '';
  // Text of a document often comes with its picture. Where somebody types, the text is meant.
  if (text !== '' && target instanceof Element && target.matches(':read-write')) return;
  const files = [...(clipboardData?.files ?? [])];
  const pasted = files.length > 0 ? files : linked(text);
  if (pasted.length + waiting.length > 0) return take(pasted, true);
  held.textContent = say('nothingPasted');
  held.hidden = false;
  held.scrollIntoView({ block: 'nearest' });
});
