// @ts-check
import { announce, ask, say } from './dom.js';
import { removeMine } from './mine.js';

/** Event on the document with the ID of a deleted picture, so that every part of the page removes it. */
export const GONE = 'picturegone';

/** @param {string} id */
function gone(id) {
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
 * Checks whether a picture still exists, without counting a view.
 * @param {import('./mine.js').Mine} image
 */
export async function checkPicture({ id, url }) {
  const answer = await fetch(new URL(url, location.href).pathname, { method: 'HEAD' }).catch(() => null);
  if (answer?.status === 404 || answer?.status === 410) gone(id);
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
