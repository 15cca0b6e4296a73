// @ts-check
import { byId, make, say } from './dom.js';
import { forgetMine, readMine } from './mine.js';
import { checkPicture, deletePicture, GONE, takeOut } from './removal.js';

/** @typedef {import('./mine.js').Mine} Mine */

/** Number shown at first: two rows on a wide screen. */
const FIRST = 6;

const section = byId('mine', HTMLElement);
const list = byId('mine-list', HTMLUListElement);
const more = byId('mine-more', HTMLButtonElement);
const title = byId('mine-title', HTMLElement);
/** @type {Mine[]} */
let hidden = [];

/**
 * Shows what this browser has uploaded, newest first.
 * @param {readonly string[]} [elsewhere] IDs of pictures that the page already shows
 */
export function showMine(elsewhere = []) {
  const mine = readMine().filter(({ id }) => !elsewhere.includes(id));
  const shown = more.hidden && list.childElementCount > FIRST ? mine : mine.slice(0, FIRST);
  hidden = mine.slice(shown.length);
  section.hidden = mine.length === 0;
  list.replaceChildren(...shown.map(itemOf));
  more.hidden = hidden.length === 0;
  more.textContent = say('showAll', { count: mine.length });
}

/**
 * Checks one after the other which of the shown pictures still exist: the browser's cache may show pictures that are
 * gone.
 */
export async function checkMine() {
  for (const { dataset } of list.querySelectorAll('li')) {
    const image = readMine().find(({ id }) => id === dataset.id);
    if (image) await checkPicture(image);
  }
}

/** @param {Mine} image */
function itemOf(image) {
  const item = make(
    'li',
    { 'data-id': image.id },
    thumbOf(image),
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
          'aria-label': say('copyLinkOf', { name: image.filename }),
        },
        make('span', {}, say('copyLink')),
      ),
      make(
        'button',
        {
          type: 'button',
          class: 'quiet danger small',
          'aria-label': say('deleteOf', { name: image.filename }),
          click: () => void remove(image, item),
        },
        say('delete'),
      ),
    ),
  );
  return item;
}

/** @param {Mine} image */
function thumbOf(image) {
  const thumb = make('span', { class: 'thumb small' });
  if (image.protected) {
    thumb.append(make('span', { class: 'locked', title: say('noPreview') }));
    return thumb;
  }
  const { pathname } = new URL(image.raw_url, location.href);
  const picture = make('img', { src: `${pathname}?w=160`, alt: '', loading: 'lazy' });
  picture.addEventListener('error', () => picture.remove());
  thumb.append(picture);
  return thumb;
}

/**
 * @param {Mine} image
 * @param {HTMLElement} item
 */
async function remove(image, item) {
  const fault = await deletePicture(image);
  if (fault === null) return;
  item.querySelector('.fault')?.remove();
  item.append(make('p', { class: 'fault small', role: 'alert' }, fault));
}

document.addEventListener(GONE, (event) => {
  const { detail: id } = /** @type {CustomEvent<string>} */ (event);
  const item = [...list.children].find((one) => one instanceof HTMLElement && one.dataset.id === id);
  if (!(item instanceof HTMLElement)) return;
  const isLast = list.childElementCount === 1 && more.hidden;
  takeOut(item, isLast ? byId('file', HTMLInputElement) : title);
  section.hidden = isLast;
});

more.addEventListener('click', () => {
  more.hidden = true;
  const before = list.childElementCount;
  list.append(...hidden.map(itemOf));
  list.children[before]?.querySelector('a')?.focus();
  void checkMine();
});

byId('forget', HTMLButtonElement).addEventListener('click', () => {
  if (!confirm(say('forgetQuestion'))) return;
  forgetMine();
  showMine();
  byId('file', HTMLInputElement).focus();
});
