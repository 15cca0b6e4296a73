// @ts-check
import { announce, ask, button, byId, make, say } from './dom.js';
import { addMine, changeMine, findMine, isOver, onOthersChange, readMine, removeMine } from './mine.js';

/**
 * @typedef {import('./mine.js').Mine} Mine
 * @typedef {{ id: string, aside: boolean, fault: string | null }} Aside
 */

const [GONE, ASIDE, CHANGED] = ['picturegone', 'pictureaside', 'picturechanged'];
/** Calls back with the ID of a deleted picture, so that every part of the page removes it. @param {(id: string) => void} then */
export const onGone = (then) => listen(GONE, then);
/** Calls back with a picture that will be deleted, to put it out of sight, or that comes back. @param {(change: Aside) => void} then */
export const onAside = (then) => listen(ASIDE, then);
/** Calls back with the ID of a picture about which something else was found out. @param {(id: string) => void} then */
export const onChanged = (then) => listen(CHANGED, then);
/** How long a deletion can be undone. */
const UNDO_MS = 8000;
/** A server that counts requests takes more only later. */
const MOST_AT_ONCE = 100;

/** Pictures whose deletion can still be undone, as this page has marked them. @type {Mine[]} */
let pending = [];
/** Those whose deletion was begun, by ID. @type {Map<string, Mine>} */
const begun = new Map();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
const bar = make(
  'div',
  { class: 'undo-bar', role: 'region', 'aria-label': say('undoBar'), hidden: true },
  make('span', {}),
  button(say('undo'), 'quiet', undo),
);
byId('announcer', HTMLElement).before(bar);

/**
 * Deletes pictures in a few seconds, unless the visitor undoes it. A page that is left deletes them at once.
 * @param {readonly Mine[]} images
 */
export function deleteSoon(images) {
  pending.push(...images.filter(({ id }) => pending.every((one) => one.id !== id)));
  const deleting = Date.now() + UNDO_MS;
  // Those before are put off with them, or another page would delete what comes back here.
  pending = pending.map((image) => {
    changeMine(image.id, { deleting });
    return { ...image, deleting: findMine(image.id)?.deleting };
  });
  for (const { id } of images) tell(ASIDE, { id, aside: true, fault: null });
  const words = say('deletedMany', { count: pending.length });
  /** @type {HTMLElement} */ (bar.firstElementChild).textContent = words;
  bar.hidden = false;
  announce(say('deletedUndo', { words }));
  if (pending.length > MOST_AT_ONCE) addEventListener('beforeunload', askBeforeLeaving);
  clearTimeout(timer);
  timer = setTimeout(() => void deleteAll(closeDue()), UNDO_MS);
}

/** What the server refuses when the page is left stays online until the next visit. @param {BeforeUnloadEvent} event */
function askBeforeLeaving(event) {
  if (pending.length + begun.size > MOST_AT_ONCE) event.preventDefault();
}

function undo() {
  const back = close();
  for (const { id } of back) {
    changeMine(id, { deleting: undefined });
    tell(ASIDE, { id, aside: false, fault: null });
  }
  announce(say('undone', { count: back.length }));
}

function close() {
  clearTimeout(timer);
  bar.hidden = true;
  const images = pending;
  pending = [];
  return images;
}

/** Leaves what another page has brought back, or put off, to that one. */
function closeDue() {
  return close().filter(({ id, deleting }) => {
    const kept = findMine(id);
    if (kept === null || kept.deleting === deleting) return true;
    if (kept.deleting === undefined) tell(ASIDE, { id, aside: false, fault: null });
    return false;
  });
}

/**
 * @param {readonly Mine[]} images
 * @param {boolean} [isTakenOver] by this page from another
 */
async function deleteAll(images, isTakenOver = false) {
  const some = images.filter(({ id }) => !begun.has(id));
  for (const image of some) begun.set(image.id, image);
  for (const image of some) {
    if (!begun.has(image.id)) continue;
    await deleteNow(image, isTakenOver);
    begun.delete(image.id);
  }
}

/**
 * @param {Mine} image
 * @param {boolean} isTakenOver
 */
async function deleteNow(image, isTakenOver) {
  const { body, status, fault } = await ask(...deletionOf(image), [429, 503]);
  // The token is nowhere else, so only this server's word counts.
  if (fault === null || body?.code === 'not_found') return gone(image.id);
  // The page was left meanwhile, or nobody has seen it here: it is tried again later.
  if (!begun.has(image.id)) return;
  if (isTakenOver && (status === 0 || status === 429 || status >= 500)) return;
  changeMine(image.id, { deleting: undefined });
  tell(ASIDE, { id: image.id, aside: false, fault });
  announce(fault);
}

/**
 * Deletes a picture that came although it was cancelled. It is marked, so that another page does it if this one is left.
 * @param {Mine} image
 */
export function withdraw(image) {
  addMine(image);
  changeMine(image.id, { deleting: Date.now() });
  void deleteAll([image], true);
  finishOthers();
}

/**
 * Forgets a picture, and its delete token.
 * @param {string} id
 */
export function gone(id) {
  removeMine(id);
  tell(GONE, id);
}

/** @param {string} event @param {string | Aside} detail */
function tell(event, detail) {
  document.dispatchEvent(new CustomEvent(event, { detail }));
}

/** @param {string} event @param {(detail: any) => void} then */
function listen(event, then) {
  document.addEventListener(event, (told) => then(/** @type {CustomEvent} */ (told).detail));
}

/**
 * @param {Mine} image
 * @returns {[path: string, init: RequestInit]}
 */
function deletionOf({ id, url, delete_token }) {
  const path = new URL(url, location.href).pathname.replace(/\/i\/\w+$/, `/api/delete/${id}`);
  return [path, { method: 'DELETE', headers: { 'x-delete-token': delete_token }, keepalive: true }];
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let nextLook;

/** Deletes what a page that was left was told to delete, of which nobody has heard the answer, as long as there is any. */
function finishOthers() {
  const now = Date.now();
  const marked = readMine().filter(({ deleting }) => deleting !== undefined);
  // Nothing waits longer, unless the clock was ahead; those of two pages may differ by some ms.
  const isLater = ({ deleting = 0 }) => deleting > now && deleting <= now + 2 * UNDO_MS;
  void deleteAll(
    marked.filter((image) => !isLater(image)),
    true,
  );
  clearTimeout(nextLook);
  if (marked.length > 0) nextLook = setTimeout(finishOthers, UNDO_MS);
}

addEventListener('pagehide', () => {
  // The list keeps them until the server has confirmed it. This listener must be the first: requests that are broken off
  // are heard of after one, and would bring their pictures back.
  const images = [...begun.values(), ...closeDue()];
  begun.clear();
  for (const image of images) {
    changeMine(image.id, { deleting: Date.now() });
    void fetch(...deletionOf(image)).catch(() => {});
  }
});
addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof Element && event.target.matches(':read-write');
  if (bar.hidden || isTyping || event.key !== 'z' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  undo();
});
onOthersChange(finishOthers);
addEventListener('pageshow', finishOthers);

/**
 * Checks whether a picture still exists, without counting a view. Its delete token is nowhere else, so only a clear
 * answer makes the page forget it: a picture in review, or one whose record is missing for a while, is not found
 * either.
 * @param {import('./mine.js').Mine} image
 */
export async function checkPicture({ id, url, review, expires_at }) {
  const answer = await fetch(new URL(url, location.href).pathname, { method: 'HEAD' }).catch(() => null);
  const status = answer?.status ?? 0;
  // Deleted on another page, or expired by both clocks: that of the server may be ahead for a while.
  const isEnded = isOver({ expires_at }) || (!review && findMine(id) === null);
  const mayEnd = !expires_at || expires_at === 'never';
  if ((status === 410 && mayEnd) || ([404, 410].includes(status) && isEnded)) return gone(id);
  const isThere = status === 200 || status === 401;
  if (!isThere && (![404, 410].includes(status) || review)) return;
  const change = isThere ? { review: undefined, missing: undefined } : { missing: true };
  if (changeMine(id, change)) tell(CHANGED, id);
}

/**
 * Removes an element from its list, or only hides it. If it had the focus, the next element gets it, or the previous
 * one, or `otherwise`.
 * @param {HTMLElement} element
 * @param {HTMLElement} otherwise
 * @param {boolean} [forever] Default: true
 */
export function takeOut(element, otherwise, forever = true) {
  const others = [...(element.parentElement?.children ?? [])].filter(
    (one) => one === element || one.checkVisibility(),
  );
  const place = others.indexOf(element);
  const near = others[place + 1] ?? others[place - 1];
  const hadFocus = element.contains(document.activeElement);
  if (forever) element.remove();
  else element.hidden = true;
  if (!hadFocus) return;
  const next = near?.querySelector('button') ?? near?.querySelector('a');
  (next instanceof HTMLElement ? next : otherwise).focus();
}
