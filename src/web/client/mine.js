// @ts-check
import { keep, keysWith, recall } from './kept.js';

/**
 * A picture that this browser has uploaded, and may delete. `made`: when it was kept here, in ms since 1970, which only
 * orders the list. `review`: the operator reviews it. `missing`: the server did not find it when it was last asked.
 * `deleting`: when it will be deleted, in ms since 1970.
 * @typedef {{ id: string, filename: string, url: string, raw_url: string, protected: boolean, delete_token: string,
 * made?: number, expires_at?: string | null, visibility?: string | undefined, review?: boolean, missing?: boolean,
 * deleting?: number | undefined }} Mine
 */

/**
 * An album that this browser has made, and may change.
 * @typedef {{ id: string, url: string, token: string, count: number, made: number, title?: string,
 * invites?: Record<string, string> }} MyAlbum `invites`: links for guests, by ID
 */

// Each entry has a key of its own. Of one list for all, two pages that write at once keep only what one has written.
const PICTURES = 'picpool:mine:';
const ALBUMS = 'picpool:albums:';
/** Marks tiles of pictures that were kept here. */
const OWN = 'data-own';

for (const prefix of [PICTURES, ALBUMS]) splitList(prefix);

/**
 * Gives the entries of a list, as earlier versions kept it, a key each.
 * @param {string} prefix
 */
function splitList(prefix) {
  const old = prefix.slice(0, -1);
  const list = parsed(recall(old));
  if (Array.isArray(list) && list.reverse().every((one, made) => keepEntry(prefix, { made, ...one })))
    keep(old, null);
}

/**
 * Nothing is left out because a clock says that it has expired: this browser's clock may be wrong, and the token is
 * nowhere else.
 * @returns {Mine[]} newest first
 */
export function readMine() {
  return read(PICTURES);
}

/** @returns {MyAlbum[]} newest first */
export function readAlbums() {
  return read(ALBUMS);
}

/**
 * @param {string | undefined} id
 * @returns {Mine | null}
 */
export function findMine(id) {
  return parsed(recall(PICTURES + id));
}

/**
 * @param {string | null} id
 * @returns {MyAlbum | null}
 */
export function findAlbum(id) {
  return parsed(recall(ALBUMS + id));
}

/**
 * Hides tiles of own pictures that are deleted, or will be: the server cannot tell a page that stays or comes back.
 */
export function hideDeleted() {
  for (const tile of document.querySelectorAll('a:is(.tile, .shot)')) {
    const mine = findMine(tile.getAttribute('href')?.slice(-12));
    const isOwn = tile.toggleAttribute(OWN, mine !== null || tile.hasAttribute(OWN));
    tile.parentElement?.toggleAttribute('hidden', isOwn && (mine === null || mine.deleting !== undefined));
  }
}
addEventListener('pageshow', hideDeleted);

/**
 * Calls back after another page has changed what is kept, once for many changes.
 * @param {() => void} then
 */
export function onOthersChange(then) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  addEventListener('storage', ({ key }) => {
    if (key !== null && ![PICTURES, ALBUMS].some((prefix) => key.startsWith(prefix))) return;
    clearTimeout(timer);
    timer = setTimeout(then);
  });
}

/**
 * Keeps an album with its token. Returns false if the browser has no room for it.
 * @param {MyAlbum} album
 */
export function addAlbum(album) {
  return keepEntry(ALBUMS, album);
}

/**
 * Changes what is kept about an album. Returns false if the browser has no room for it.
 * @param {string} id
 * @param {Partial<MyAlbum>} change
 */
export function changeAlbum(id, change) {
  const album = findAlbum(id);
  return album !== null && keepEntry(ALBUMS, { ...album, ...change });
}

/** @param {string} id */
export function removeAlbum(id) {
  keep(ALBUMS + id, null);
}

/** @param {string} prefix */
function read(prefix) {
  return (
    keysWith(prefix)
      .map((key) => parsed(recall(key)))
      // What could not be shown must not stop the page.
      .filter((one) => typeof one?.id === 'string' && [one.url, one.raw_url].every(isLink))
      .sort((one, other) => (other.made ?? 0) - (one.made ?? 0))
  );
}

/** @param {string} [url] */
const isLink = (url = '') => URL.canParse(url, location.href);

/** @param {string | null} text */
function parsed(text) {
  try {
    return JSON.parse(text ?? 'null');
  } catch {
    return null;
  }
}

/**
 * @param {string} prefix
 * @param {Mine | MyAlbum} one
 */
function keepEntry(prefix, one) {
  return keep(prefix + one.id, JSON.stringify(one));
}

/**
 * @param {string} text UTC, as the API or as ISO 8601 has it
 * @returns {number} ms since 1970
 */
export function timeOf(text) {
  return Date.parse(text.includes('T') ? text : `${text.replace(' ', 'T')}Z`);
}

/** @param {{ expires_at?: string | null | undefined }} one */
export function isOver({ expires_at }) {
  if (!expires_at || expires_at === 'never') return false;
  return timeOf(expires_at) <= Date.now();
}

/**
 * Keeps a picture with its token. Returns false if the browser has no room for it.
 * @param {Mine & { max_views?: number | null }} uploaded
 */
export function addMine(uploaded) {
  const { id, filename, url, raw_url, delete_token, expires_at = null, max_views = null, review } = uploaded;
  return keepEntry(PICTURES, {
    ...{ id, filename, url, raw_url, delete_token, expires_at, visibility: uploaded.visibility },
    // A picture with limited views has no thumbnail either.
    protected: uploaded.protected || max_views !== null,
    made: Date.now(),
    ...(review && { review }),
  });
}

/** @param {string} id */
export function removeMine(id) {
  keep(PICTURES + id, null);
}

/**
 * Changes what is kept about a picture. Returns whether anything has changed.
 * @param {string} id
 * @param {{ [Name in keyof Mine]?: Mine[Name] | undefined }} change
 */
export function changeMine(id, change) {
  const before = recall(PICTURES + id);
  const after = JSON.stringify({ ...parsed(before), ...change });
  return before !== null && after !== before && keep(PICTURES + id, after);
}

export function forgetMine() {
  for (const tile of document.querySelectorAll(`[${OWN}]`)) tile.removeAttribute(OWN);
  for (const key of [...keysWith(PICTURES), ...keysWith(ALBUMS)]) keep(key, null);
}

/**
 * Adds the pictures and albums of another list. What is known already stays as it is. Returns how many were added, or
 * `null` if the browser has no room for all.
 * @param {readonly Mine[]} pictures
 * @param {readonly MyAlbum[]} albums
 */
export function mergeMine(pictures, albums) {
  /** @type {[string, Mine | MyAlbum][]} */
  const entries = [];
  for (const one of pictures) entries.push([PICTURES, one]);
  for (const one of albums) entries.push([ALBUMS, one]);
  const added = entries.filter(([prefix, { id }]) => recall(prefix + id) === null);
  if (added.every((entry) => keepEntry(...entry))) return added.length;
  for (const [prefix, { id }] of added) keep(prefix + id, null);
  return null;
}
