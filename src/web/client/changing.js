// @ts-check
import { ask } from './dom.js';
import { changeMine, findMine } from './mine.js';

/** Longer than it takes to leave a page. */
const LEAVING_MS = 1000;

/**
 * Returns a function that does one piece of work after another. If the page is left, all that still waits begins at once.
 * @returns {<T>(work: () => Promise<T>) => Promise<T>}
 */
export function createQueue() {
  /** @type {Promise<unknown>} */
  let last = Promise.resolve();
  /** @type {Set<() => void>} */
  const waiting = new Set();
  addEventListener('pagehide', () => {
    for (const begin of waiting) begin();
  });
  return (work) => {
    const { promise, resolve } = Promise.withResolvers();
    const begin = () => void (waiting.delete(begin) && resolve(work()));
    waiting.add(begin);
    last = last.then(begin).then(() => promise);
    return promise;
  };
}

/**
 * Changes a picture of this browser on the server, and what is kept about it here.
 * @param {import('./mine.js').Mine} image
 * @param {Record<string, string | null>} change fields of the API
 * @returns {Promise<{ body: any, fault: string | null }>}
 */
export async function changePicture({ id, url, delete_token }, change) {
  const { pathname } = new URL(url, location.href);
  const { filename: before, visibility: seenBy } = findMine(id) ?? {};
  if (change.title) changeMine(id, { filename: change.title });
  if (change.password) changeMine(id, { visibility: 'protected' });
  const { body, fault } = await ask(pathname.replace(/\/i\/\w+$/, `/api/image/${id}`), {
    method: 'PATCH',
    headers: { 'content-type': 'application/json', 'x-delete-token': delete_token },
    body: JSON.stringify(change),
    keepalive: true,
  });
  // A page that is left hears a fault instead of the answer, and nothing later.
  if (fault !== null && findMine(id)?.filename === change.title)
    setTimeout(changeMine, LEAVING_MS, id, { filename: before });
  // It may have been changed all the same, and then nobody sees it without the password.
  if (fault !== null && change.password)
    setTimeout(async () => {
      const { status = 0 } = (await fetch(pathname, { method: 'HEAD' }).catch(() => null)) ?? {};
      if (status === 200 && !findMine(id)?.protected) changeMine(id, { visibility: seenBy });
    }, LEAVING_MS);
  if (fault === null) {
    const { title, filename, protected: isProtected, max_views, expires_at, visibility } = body;
    const kept = { filename: title ?? filename, protected: isProtected || max_views !== null };
    changeMine(id, { ...kept, expires_at, visibility });
  }
  return { body, fault };
}

/**
 * Moves a picture into the gallery or out of it, unless another device has set a password since, which that would remove.
 * @param {import('./mine.js').Mine} image
 * @param {string} visibility
 * @returns {ReturnType<typeof changePicture>}
 */
export async function listPicture(image, visibility) {
  const { pathname } = new URL(image.url, location.href);
  // Its page would open for a browser in which the password was entered.
  const { body, fault } = await ask(pathname.replace(/\/i\/\w+$/, `/api/info/${image.id}`));
  if (fault === null) return changePicture(image, { visibility });
  if (body?.code !== 'password_required') return { body, fault };
  const kept = { protected: true, visibility: 'protected' };
  changeMine(image.id, kept);
  return { body: kept, fault: null };
}
