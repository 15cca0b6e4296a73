// @ts-check
import { copyButton } from './copy.js';
import { button, byId, language, make, say } from './dom.js';
import { findMine, forgetMine, hideDeleted, readAlbums, readMine } from './mine.js';
import { chooseIn, tickBox } from './ticks.js';
import { checkPicture, deleteSoon, gone, onAside, onChanged, onGone, takeOut } from './undo.js';

/** @typedef {import('./mine.js').Mine} Mine */

/** Number shown at first: four rows on a wide screen. */
const FIRST = 12;

const section = byId('mine', HTMLElement);
const list = byId('mine-list', HTMLUListElement);
const more = byId('mine-more', HTMLButtonElement);
const title = byId('mine-title', HTMLElement);
const albums = byId('my-albums', HTMLElement);
const albumList = byId('my-albums-list', HTMLUListElement);
/** @type {Mine[]} */
let hidden = [];
const dates = new Intl.DateTimeFormat(language, { dateStyle: 'medium' });
/** What each item shows. @type {WeakMap<Element, string>} */
const shownBy = new WeakMap();

/** Shows what this browser has uploaded and no card shows, newest first. */
export function showMine() {
  const cards = [...document.querySelectorAll('#cards > [data-id]')].map((card) =>
    card.getAttribute('data-id'),
  );
  const mine = readMine().filter(({ id, deleting }) => !deleting && !cards.includes(id));
  const shown = more.hidden && list.childElementCount > FIRST ? mine : mine.slice(0, FIRST);
  hidden = mine.slice(shown.length);
  section.hidden = mine.length === 0;
  showItems(shown);
  more.hidden = hidden.length === 0;
  more.textContent = say('showAll', { count: mine.length });
  showAlbums();
  hideDeleted();
}

/**
 * Items that stay are not touched: one may be chosen, or have the focus.
 * @param {readonly Mine[]} images
 */
function showItems(images) {
  const known = new Map([...list.children].map((item) => [shownBy.get(item), item]));
  const items = images.map((image) => known.get(JSON.stringify(image)) ?? itemOf(image));
  for (const item of known.values()) if (!items.includes(item)) item.remove();
  for (const [place, item] of items.entries())
    if (list.children[place] !== item) list.insertBefore(item, list.children[place] ?? null);
}

/** Shows the albums that this browser has made. Their tokens are stored with them. */
export function showAlbums() {
  const made = readAlbums();
  albums.hidden = made.length === 0;
  albumList.replaceChildren(
    ...made.map(({ url, count, made: at, title }) => {
      // What is beyond the range of dates must not stop the page.
      const day = dates.format(Math.max(0, Math.min(at, Date.now())) || undefined);
      const name = title || say('albumMade', { count });
      return make(
        'li',
        {},
        make('a', { href: url }, name),
        make('span', { class: 'small muted' }, `${title ? `${say('pictures', { count })}, ` : ''}${day}`),
        make('span', { class: 'chips' }, copyOf(url, name)),
      );
    }),
  );
}

/**
 * @param {string} url
 * @param {string} name
 */
function copyOf(url, name) {
  return copyButton(say('copyLink'), 'copy', url, { 'aria-label': say('copyLinkOf', { name }) });
}

/**
 * Checks one after the other which of the shown pictures still exist: the browser's cache may show pictures that are
 * gone.
 */
export async function checkMine() {
  for (const { dataset } of list.querySelectorAll('li')) {
    const image = findMine(dataset.id);
    if (image) await checkPicture(image);
  }
}

/** @param {Mine} image */
function itemOf(image) {
  const item = make(
    'li',
    { 'data-id': image.id },
    tickBox(image.filename),
    thumbOf(image),
    make('a', { href: image.url }, image.filename),
    ...(stateOf(image) === null ? [] : [make('span', { class: 'small muted state' }, stateOf(image) ?? '')]),
    make('span', { class: 'chips' }, copyOf(image.url, image.filename), ...editOf(image), removalOf(image)),
  );
  shownBy.set(item, JSON.stringify(image));
  return item;
}

/** @param {Mine} image */
function stateOf({ review, missing }) {
  if (review) return say('waitingForReview');
  return missing ? say('notFound') : null;
}

/** @param {Mine} image */
function editOf({ url, filename, review, missing }) {
  if (review || missing) return [];
  const spoken = say('editOf', { name: filename });
  return [make('a', { class: 'button quiet small', href: `${url}#edit`, 'aria-label': spoken }, say('edit'))];
}

/**
 * Returns the button that deletes the picture or, if the server does not know it, only takes it out of the list.
 * @param {Mine} image
 */
function removalOf(image) {
  const name = image.filename;
  return image.missing
    ? button(say('takeOut'), 'quiet small', () => gone(image.id), say('takeOutOf', { name }))
    : button(say('delete'), 'quiet danger small', () => deleteSoon([image]), say('deleteOf', { name }));
}

/** @param {Mine} image */
function thumbOf(image) {
  const thumb = make('span', { class: 'thumb small' });
  if (image.protected || image.review || image.missing) {
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
 * Returns the element that shows the picture with that ID.
 * @param {string} id
 */
function itemWith(id) {
  return [...list.querySelectorAll('li')].find(({ dataset }) => dataset.id === id);
}

onChanged((id) => {
  const image = findMine(id);
  if (image) itemWith(id)?.replaceWith(itemOf(image));
});

/**
 * @param {HTMLElement} item
 * @param {boolean} forever
 */
function putAway(item, forever) {
  const isLast = [...list.children].every((one) => one === item || !one.checkVisibility()) && more.hidden;
  takeOut(item, isLast ? byId('file', HTMLInputElement) : title, forever);
  section.hidden = isLast;
}

onGone((id) => {
  const item = itemWith(id);
  if (item) putAway(item, true);
});

onAside(({ id, aside, fault }) => {
  hideDeleted();
  const item = itemWith(id);
  if (!item) return aside || showMine();
  if (aside) return putAway(item, false);
  item.hidden = false;
  section.hidden = false;
  if (fault !== null) item.append(make('p', { class: 'fault small', role: 'alert' }, fault));
});

chooseIn(list, byId('chosen-mine', HTMLElement), {
  [say('delete')]: (items) => {
    deleteSoon(items.flatMap(({ dataset }) => findMine(dataset.id) ?? []));
  },
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
