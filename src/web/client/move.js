// @ts-check
import { copyButton } from './copy.js';
import { announce, ask, button, byId, make, say } from './dom.js';
import { mergeMine, readAlbums, readMine } from './mine.js';
import { showMine } from './mine-list.js';

/** The server keeps no more. */
const MOST_SEALED = 256 * 1024;
/** Of a list that is read. */
const MOST_FILE = 8e6;
const ID = /^[0-9A-Za-z]{12}$/;
const TOKEN = /^[0-9A-Za-z]{32}$/;
/** End of a link for guests: its key. */
const GUESTS = /\?k=(\w{1,100})$/;
/** Fragment of a link to a list: its ID, and the key, which no server sees. */
const LINK = /^#move=([0-9A-Za-z]{32})\.([\w-]{43})$/;

const tools = byId('lists', HTMLDetailsElement);
const result = byId('lists-result', HTMLElement);
const home = new URL(location.pathname, location.href).href;
const handovers = byId('upload', HTMLFormElement).action.replace(/upload$/, 'handovers');

/** @param {...(Node | string)} parts */
function tell(...parts) {
  tools.open = true;
  result.replaceChildren(...parts);
  announce(result.textContent ?? '');
}

const wholeList = () => JSON.stringify({ pictures: readMine(), albums: readAlbums() });

/**
 * Returns the entries of a list that another device has written, which may be any text. Throws if it is not a list.
 * @param {string} text
 */
function entriesOf(text) {
  /** @type {{ pictures?: unknown, albums?: unknown }} */
  const list = Object(JSON.parse(text));
  const entries = (/** @type {unknown} */ some) =>
    Array.isArray(some) ? some.filter((one) => ID.test(one?.id)) : [];
  const [some, others] = [entries(list.pictures), entries(list.albums)];
  const pictures = some.flatMap((one, index) =>
    TOKEN.test(one.delete_token) ? pictureOf(one, some.length - index) : [],
  );
  const albums = others.flatMap((one) => (TOKEN.test(one.token) ? albumOf(one) : []));
  const asked = some.length + others.length;
  if (asked === 0 || pictures.length + albums.length < asked) throw new TypeError();
  return { pictures, albums };
}

/** @param {string} text */
function take(text) {
  let list;
  try {
    list = entriesOf(text);
  } catch {
    return tell(say('notAList'));
  }
  const added = mergeMine(list.pictures, list.albums);
  if (added === null) return tell(say('noRoom'));
  showMine();
  tell(added > 0 ? say('listTaken', { count: added }) : say('listKnown'));
}

/**
 * Links lead to this server, whatever the list says.
 * @param {Record<string, unknown>} one
 * @param {number} otherwise when it was kept, if the list does not say it
 */
function pictureOf(
  { id, filename, raw_url, protected: isProtected, delete_token, made, expires_at, review },
  otherwise,
) {
  const [, extension = ''] = /\.(\w{1,5})$/.exec(String(raw_url)) ?? [];
  const url = byId('upload', HTMLFormElement).action.replace(/api\/upload$/, `i/${id}`);
  return {
    id: String(id),
    filename: String(filename).slice(0, 255),
    url,
    raw_url: `${url}.${extension}`,
    protected: isProtected === true,
    delete_token: String(delete_token),
    made: Number(made) || otherwise,
    expires_at: typeof expires_at === 'string' ? expires_at : null,
    ...(review === true && { review }),
  };
}

/** @param {Record<string, unknown>} one */
function albumOf({ id, token, title, count, made, invites }) {
  const url = byId('upload', HTMLFormElement).action.replace(/api\/upload$/, `a/${id}`);
  const keys = Object.entries(Object(invites)).map(([invite, link]) => [
    invite,
    GUESTS.exec(String(link))?.[1],
  ]);
  const links = keys.flatMap(([invite, key]) => (key === undefined ? [] : [[invite, `${url}/add?k=${key}`]]));
  return {
    id: String(id),
    url,
    token: String(token),
    count: Number(count) || 0,
    made: Number(made) || Date.now(),
    ...(typeof title === 'string' && { title: title.slice(0, 255) }),
    ...(links.length > 0 && { invites: Object.fromEntries(links) }),
  };
}

/** Packs and encrypts the list with a new key. */
async function seal() {
  const packed = new Blob([wholeList()]).stream().pipeThrough(new CompressionStream('gzip'));
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const key = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, true, ['encrypt', 'decrypt']);
  const bytes = await new Response(packed).arrayBuffer();
  const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, key, bytes);
  return {
    sealed: new Uint8Array([...iv, ...new Uint8Array(sealed)]),
    key: new Uint8Array(await crypto.subtle.exportKey('raw', key)),
  };
}

/** @param {string} sealed @param {string} key both in Base64url */
async function unseal(sealed, key) {
  const [bytes, raw] = [bytesOf(sealed), bytesOf(key)];
  const imported = await crypto.subtle.importKey('raw', raw, 'AES-GCM', false, ['decrypt']);
  const packed = await crypto.subtle.decrypt(
    { name: 'AES-GCM', iv: bytes.slice(0, 12) },
    imported,
    bytes.slice(12),
  );
  let size = 0;
  const bounded = new TransformStream({
    transform(chunk, to) {
      size += chunk.length;
      if (size > MOST_FILE) to.error(new RangeError());
      else to.enqueue(chunk);
    },
  });
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(unpacked.pipeThrough(bounded)).text();
}

/** @param {Uint8Array} bytes */
function base64Of(bytes) {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** @param {string} text */
function bytesOf(text) {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) =>
    letter.charCodeAt(0),
  );
}

/** Shows a link that brings the list to another device within the next ten minutes. */
async function makeLink() {
  const { sealed, key } = await seal();
  if (sealed.length > MOST_SEALED) return tell(say('listTooLong'));
  const { body, fault } = await ask(handovers, { method: 'POST', body: base64Of(sealed) });
  if (fault !== null) return tell(fault);
  const url = `${home}#move=${body.id}.${base64Of(key)}`;
  const copy = copyButton(say('copyLink'), 'copy-link', url);
  tell(make('p', {}, say('moveNote')), make('p', { class: 'share-text' }, url), copy);
  copy.focus();
}

/** Offers the list of a link. It is read by a click alone, because it can be read once. */
function offer() {
  const [, id = '', key = ''] = LINK.exec(location.hash) ?? [];
  if (id === '') return;
  // The key is a secret, which a screenshot or the history would show.
  history.replaceState(null, '', location.pathname);
  const get = button(say('getList'), '', fetchList);
  tell(make('p', {}, say('listOffered')), get);
  tools.scrollIntoView({ block: 'center' });
  get.focus();

  async function fetchList() {
    get.disabled = true;
    const { body, fault } = await ask(`${handovers}/${id}`, { method: 'POST' });
    if (body?.code === 'not_found') return tell(say('linkUsed'));
    get.disabled = false;
    if (fault !== null) return tell(make('p', { class: 'fault' }, fault), get);
    await unseal(body.sealed, key).then(take, () => tell(say('notAList')));
  }
}

byId('list-save', HTMLButtonElement).addEventListener('click', () => {
  const href = URL.createObjectURL(new Blob([wholeList()], { type: 'application/json' }));
  make('a', { href, download: 'picpool-pictures.json' }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
});
const file = byId('list-file', HTMLInputElement);
file.addEventListener('change', async () => {
  const [chosen] = file.files ?? [];
  if (chosen) take(chosen.size > MOST_FILE ? '' : await chosen.text());
  file.value = '';
});
const link = byId('list-link', HTMLButtonElement);
// Browsers encrypt only on secure pages.
link.hidden = crypto.subtle === undefined;
link.addEventListener('click', () => void makeLink());
// A click before this script had come would do nothing.
byId('list-actions', HTMLElement).inert = false;
addEventListener('hashchange', offer);
offer();
