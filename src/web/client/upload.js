// @ts-check
import { announce, ask, byId, faultIn, make, readableBytes } from './dom.js';
import { addMine, forgetMine, readMine, removeMine } from './mine.js';
import { createCard } from './upload-card.js';

/** At once; the server has few cores. */
const MOST_AT_ONCE = 2;
/** Statuses after which the same may work later. */
const PASSING = [0, 429, 500, 503, 507];

const form = byId('upload', HTMLFormElement);
const input = byId('file', HTMLInputElement);
const cards = byId('cards', HTMLUListElement);
/** Where only holders of tokens may upload. */
const token = /** @type {HTMLInputElement | null} */ (document.getElementById('token'));
const zone = /** @type {HTMLElement} */ (form.querySelector('.dropzone'));
const deletePath = form.action.replace(/upload$/, 'delete/');

/** Under which this browser keeps the token. */
const TOKEN_KEY = 'picpool-token';
if (token) {
  token.value = localStorage.getItem(TOKEN_KEY) ?? '';
  token.addEventListener('change', () => localStorage.setItem(TOKEN_KEY, token.value.trim()));
}

/** @type {(() => void)[]} */
const waiting = [];
let running = 0;

function startNext() {
  while (running < MOST_AT_ONCE) {
    const start = waiting.shift();
    if (!start) return;
    running++;
    start();
  }
}

/** @param {Iterable<File>} files */
function take(files) {
  for (const file of files) add(file);
}

/** @param {File} file */
function add(file) {
  const request = new XMLHttpRequest();
  let started = false;
  const start = () => {
    started = true;
    send(file, request, card);
  };
  const card = createCard(file, () => {
    card.element.remove();
    if (started) request.abort();
    else waiting.splice(waiting.indexOf(start), 1);
    announce(`${file.name} was cancelled.`);
    input.focus();
  });
  cards.prepend(card.element);
  const most = Number(form.dataset.maxBytes);
  if (file.size > most) {
    return fail(
      file,
      card,
      `This file has ${readableBytes(file.size)}; ${readableBytes(most)} are the most.`,
      false,
    );
  }
  waiting.push(start);
  startNext();
}

/**
 * XMLHttpRequest, because fetch does not tell how much has been sent.
 * @param {File} file
 * @param {XMLHttpRequest} request
 * @param {import('./upload-card.js').Card} card
 */
function send(file, request, card) {
  const body = new FormData(form);
  body.delete('image');
  body.set('image', file, file.name);
  request.open('POST', form.action);
  request.setRequestHeader('accept', 'application/json');
  if (token?.value) request.setRequestHeader('authorization', `Bearer ${token.value.trim()}`);
  request.responseType = 'json';
  request.upload.addEventListener('progress', ({ loaded, total }) => card.sent(loaded / total));
  request.addEventListener('loadend', () => {
    running--;
    startNext();
  });
  request.addEventListener('load', () => {
    if (request.status !== 201) {
      return fail(file, card, faultIn(request.status, request.response), PASSING.includes(request.status));
    }
    /** @type {import('./upload-card.js').Uploaded} */
    const image = request.response;
    addMine(image);
    showMine();
    card.done(image, () => void remove(image, card.element));
    announce([`${image.filename} is online.`, ...image.warnings.map(({ message }) => message)].join(' '));
  });
  request.addEventListener('error', () => fail(file, card, faultIn(0, null), true));
  request.send(body);
}

/**
 * @param {File} file
 * @param {import('./upload-card.js').Card} card
 * @param {string} words
 * @param {boolean} mayWorkLater
 */
function fail(file, card, words, mayWorkLater) {
  const retry = () => {
    card.element.remove();
    add(file);
  };
  card.failed(words, mayWorkLater ? retry : null);
  announce(`${file.name} was not uploaded. ${words}`);
}

/**
 * @param {import('./mine.js').Mine} image
 * @param {HTMLElement} element
 */
async function remove(image, element) {
  if (!confirm(`Delete ${image.filename} for everybody?`)) return;
  const { status, fault } = await ask(deletePath + image.id, {
    method: 'DELETE',
    headers: { 'x-delete-token': image.delete_token },
  });
  if (fault !== null && status !== 404) return alert(fault);
  removeMine(image.id);
  element.remove();
  showMine();
  announce(`${image.filename} was deleted.`);
}

function showMine() {
  const mine = readMine();
  byId('mine', HTMLElement).hidden = mine.length === 0;
  byId('mine-list', HTMLUListElement).replaceChildren(...mine.map(mineItem));
}

/** @param {import('./mine.js').Mine} image */
function mineItem(image) {
  const { pathname } = new URL(image.raw_url, location.href);
  const thumb = make('span', { class: 'thumb small' });
  if (image.protected) thumb.append('locked');
  else thumb.append(make('img', { src: `${pathname}?w=160`, alt: '', loading: 'lazy' }));
  const item = make(
    'li',
    {},
    thumb,
    make('a', { href: image.url }, image.filename),
    make(
      'span',
      { class: 'chips' },
      make(
        'button',
        {
          type: 'button',
          class: 'copy',
          'data-copy': image.url,
          'aria-label': `Copy link of ${image.filename}`,
        },
        make('span', {}, 'Copy link'),
      ),
      make(
        'button',
        {
          type: 'button',
          class: 'quiet danger small',
          'aria-label': `Delete ${image.filename}`,
          click: () => void remove(image, item),
        },
        'Delete',
      ),
    ),
  );
  return item;
}

input.addEventListener('change', () => {
  take(input.files ?? []);
  input.value = '';
});
form.addEventListener('submit', (event) => event.preventDefault());

/** @param {DataTransfer | null} data */
const picturesIn = (data) => [...(data?.files ?? [])];

document.addEventListener('dragover', (event) => {
  if (!event.dataTransfer?.types.includes('Files')) return;
  event.preventDefault();
  zone.classList.add('over');
});
document.addEventListener('dragleave', ({ relatedTarget }) => {
  if (relatedTarget === null) zone.classList.remove('over');
});
document.addEventListener('drop', (event) => {
  if (!event.dataTransfer?.types.includes('Files')) return;
  event.preventDefault();
  zone.classList.remove('over');
  take(picturesIn(event.dataTransfer));
});
document.addEventListener('paste', ({ clipboardData }) => take(picturesIn(clipboardData)));

byId('forget', HTMLButtonElement).addEventListener('click', () => {
  if (!confirm('Forget the list and the tokens that delete? The pictures stay online.')) return;
  forgetMine();
  showMine();
});
showMine();
