// @ts-check
import { copyButton } from './copy.js';
import { ask, byId, make, say } from './dom.js';
import { addAlbum, changeAlbum } from './mine.js';
import { showAlbums } from './mine-list.js';
import { tokenOf } from './sending.js';

/** Maximum number of pictures in one request of the API. */
const MOST_AT_ONCE = 100;
/** Maximum length of a title. */
const MOST_LETTERS = '200';

/** @typedef {import('./upload-card.js').Uploaded} Uploaded */

/**
 * Creates an album with the pictures, without those that no longer exist. Never rejects: a fault is returned as
 * `{ fault }`.
 * @param {HTMLFormElement} form
 * @param {string} title
 * @param {readonly Uploaded[]} images
 * @returns {Promise<{ url: string, count: number, fault: string | null }>}
 */
async function createAlbum(form, title, images) {
  const albums = form.action.replace(/upload$/, 'albums');
  const token = tokenOf(form);
  const headers = {
    'content-type': 'application/json',
    ...(token !== '' && { authorization: `Bearer ${token}` }),
  };
  const visibility = images.every((image) => image.visibility === 'public') ? 'public' : 'unlisted';
  let sent = 0;
  let left = images.map(({ id, delete_token }) => ({ id, delete_token }));

  /**
   * Sends some of the pictures, again without each that the server does not know.
   * @param {string} path
   * @param {object} more
   * @param {Record<string, string>} [own]
   */
  const send = async (path, more, own) => {
    for (;;) {
      const some = left.slice(0, MOST_AT_ONCE);
      const body = JSON.stringify({ ...more, ...(some.length > 0 && { images: some }) });
      const answer = await ask(path, { method: 'POST', headers: { ...headers, ...own }, body }, [429]);
      const [, place] = /^images\[(\d+)\]\.id$/.exec(answer.body?.details?.[0]?.field) ?? [];
      if (answer.status !== 404 || place === undefined) {
        if (answer.fault !== null) return answer;
        left = left.slice(some.length);
        sent += some.length;
        return answer;
      }
      left.splice(Number(place), 1);
      if (left.length === 0) return answer;
    }
  };
  const { body: album, fault } = await send(albums, { title, visibility });
  if (fault !== null) return { url: '', count: 0, fault };
  // The token changes the album, and only this browser has it.
  const made = { id: album.id, url: album.url, token: album.token, title, made: Date.now() };
  const isKept = addAlbum({ ...made, count: sent });
  let why = null;
  while (left.length > 0 && why === null) {
    why = (await send(`${albums}/${album.id}/images`, {}, { 'x-album-token': album.token })).fault;
  }
  changeAlbum(album.id, { count: sent });
  showAlbums();
  return { url: album.url, count: sent, fault: isKept ? why : say('albumNotKept', { token: album.token }) };
}

/**
 * Asks for a title, creates an album of pictures and shows its link, or what went wrong.
 * @param {HTMLButtonElement} button
 * @param {HTMLFormElement} form
 * @param {() => readonly Uploaded[]} images
 */
export function makeAlbum(button, form, images) {
  const place = byId('album', HTMLElement);
  const title = make('input', { id: 'new-album', maxlength: MOST_LETTERS, autocomplete: 'off' });
  const create = make('button', {}, say('createAlbum'));
  const asked = make(
    'form',
    { class: 'album-title' },
    make('label', { for: 'new-album' }, say('albumTitle')),
    title,
    create,
  );
  asked.addEventListener('submit', async (event) => {
    event.preventDefault();
    create.disabled = true;
    const { url, count, fault } = await createAlbum(form, title.value.trim(), images());
    create.disabled = false;
    place.querySelector('.fault')?.remove();
    if (url !== '') showMade(place, title.value.trim() || say('albumMade', { count }), url);
    if (fault !== null) place.append(make('p', { class: 'fault', role: 'alert' }, fault));
  });
  place.replaceChildren(asked);
  place.hidden = false;
  title.focus();
  button.setAttribute('aria-expanded', 'true');
}

/**
 * @param {HTMLElement} place
 * @param {string} name
 * @param {string} url
 */
function showMade(place, name, url) {
  const copy = copyButton(say('copyAlbumLink'), 'copy-link', url);
  place.replaceChildren(
    make('p', { class: 'upload-name' }, name),
    make('p', { class: 'share-text' }, make('a', { href: url }, url)),
    make('div', { class: 'chips' }, copy),
  );
  copy.focus();
}
