// @ts-check
import { announce, ask, say } from './dom.js';
import { changeMine, isOver, readMine, removeMine } from './mine.js';

/** Event on the document with the ID of a deleted picture, so that every part of the page removes it. */
export const GONE = 'picturegone';
/** Event on the document with the ID of a picture about which something else was found out. */
export const CHANGED = 'picturechanged';

/**
 * Forgets a picture, and its delete token.
 * @param {string} id
 */
export function gone(id) {
  removeMine(id);
  document.dispatchEvent(new CustomEvent(GONE, { detail: id }));
}

/**
 * Deletes a picture after confirmation. Returns why that failed, or `null`.
 * @param {import('./mine.js').Mine} image
 * @returns {Promise<string | null>}
 */
export async function deletePicture({ id, url, filename, delete_token }) {
  if (!confirm(say('deleteQuestion', { name: filename }))) return null;
  const { pathname } = new URL(url, location.href);
  const { status, fault } = await ask(pathname.replace(/\/i\/\w+$/, `/api/delete/${id}`), {
    method: 'DELETE',
    headers: { 'x-delete-token': delete_token },
  });
  if (fault !== null && status !== 404) return fault;
  gone(id);
  announce(say('deleted', { name: filename }));
  return null;
}

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
  const isEnded = isOver({ expires_at }) || (!review && readMine().every((one) => one.id !== id));
  const mayEnd = !expires_at || expires_at === 'never';
  if ((status === 410 && mayEnd) || ([404, 410].includes(status) && isEnded)) return gone(id);
  const isThere = status === 200 || status === 401;
  if (!isThere && (![404, 410].includes(status) || review)) return;
  const change = isThere ? { review: undefined, missing: undefined } : { missing: true };
  if (changeMine(id, change)) document.dispatchEvent(new CustomEvent(CHANGED, { detail: id }));
}

/**
 * Removes an element from its list. If it had the focus, the next element gets it, or the previous one, or
 * `otherwise`.
 * @param {HTMLElement} element
 * @param {HTMLElement} otherwise
 */
export function takeOut(element, otherwise) {
  const near = element.nextElementSibling ?? element.previousElementSibling;
  const hadFocus = element.contains(document.activeElement);
  element.remove();
  if (!hadFocus) return;
  const next = near?.querySelector('button') ?? near?.querySelector('a');
  (next instanceof HTMLElement ? next : otherwise).focus();
}
