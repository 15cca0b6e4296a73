// @ts-check
import { changeMine, findMine, isOver } from './mine.js';
import { gone } from './undo.js';

/** Event on the document with the ID of a picture about which something else was found out. */
export const CHANGED = 'picturechanged';

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
  if (changeMine(id, change)) document.dispatchEvent(new CustomEvent(CHANGED, { detail: id }));
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
