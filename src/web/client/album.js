// @ts-check
import { ask, byId, make, say } from './dom.js';
import { addAlbum } from './mine.js';
import { showAlbums } from './mine-list.js';
import { tokenOf } from './sending.js';

/** Maximum number of pictures in one request of the API. */
const MOST_AT_ONCE = 100;

/**
 * Creates an album with the pictures. Never rejects: a fault is returned as `{ fault }`.
 * @param {HTMLFormElement} form
 * @param {readonly import('./upload-card.js').Uploaded[]} images
 * @returns {Promise<{ url: string, fault: string | null }>}
 */
async function createAlbum(form, images) {
  const albums = form.action.replace(/upload$/, 'albums');
  const token = tokenOf(form);
  const send = (
    /** @type {string} */ method,
    /** @type {string} */ path,
    /** @type {object} */ body,
    headers = {},
  ) =>
    ask(path, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(token !== '' && { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: JSON.stringify(body),
    });
  const isPublic = images.every(({ visibility }) => visibility === 'public');
  const visibility = isPublic ? 'public' : 'unlisted';
  const { body: album, fault } = await send('POST', albums, { visibility });
  if (fault !== null) return { url: '', fault };
  for (let first = 0; first < images.length; first += MOST_AT_ONCE) {
    const some = images
      .slice(first, first + MOST_AT_ONCE)
      .map(({ id, delete_token }) => ({ id, delete_token }));
    const headers = { 'x-album-token': album.token };
    const added = await send('POST', `${albums}/${album.id}/images`, { images: some }, headers);
    if (added.fault === null) continue;
    // Nobody would know it.
    await send('DELETE', `${albums}/${album.id}`, {}, headers);
    return { url: '', fault: added.fault };
  }
  // The token changes the album, and only this browser has it.
  addAlbum({ id: album.id, url: album.url, token: album.token, count: images.length, made: Date.now() });
  showAlbums();
  return { url: album.url, fault: null };
}

/**
 * Creates an album of pictures and shows its link, or what went wrong.
 * @param {HTMLButtonElement} button
 * @param {HTMLFormElement} form
 * @param {readonly import('./upload-card.js').Uploaded[]} images
 */
export async function makeAlbum(button, form, images) {
  const place = byId('album', HTMLElement);
  button.disabled = true;
  const { url, fault } = await createAlbum(form, images);
  button.disabled = false;
  place.hidden = false;
  if (fault !== null) return place.replaceChildren(make('p', { class: 'fault', role: 'alert' }, fault));
  const copy = make(
    'button',
    { type: 'button', class: 'copy-link', 'data-copy': url },
    make('span', {}, say('copyAlbumLink')),
  );
  place.replaceChildren(
    make('p', { class: 'upload-name' }, say('albumMade', { count: images.length })),
    make('p', { class: 'share-text' }, make('a', { href: url }, url)),
    make('div', { class: 'chips' }, copy),
  );
  copy.focus();
}
