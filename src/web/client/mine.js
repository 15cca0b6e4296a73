// @ts-check

/**
 * A picture that this browser has uploaded, and may delete. `review`: the operator reviews it. `missing`: the server
 * did not find it when it was last asked. `deleting`: when it will be deleted, in ms since 1970.
 * @typedef {{ id: string, filename: string, url: string, raw_url: string, protected: boolean, delete_token: string,
 * expires_at?: string | null, review?: boolean, missing?: boolean, deleting?: number }} Mine
 */

/**
 * An album that this browser has made, and may change.
 * @typedef {{ id: string, url: string, token: string, count: number, made: number, title?: string,
 * invites?: Record<string, string> }} MyAlbum `invites`: links for guests, by ID
 */

export const MINE_KEY = 'picpool:mine';
const ALBUMS_KEY = 'picpool:albums';

/**
 * Nothing is left out because a clock says that it has expired: this browser's clock may be wrong, and the token is
 * nowhere else.
 * @returns {Mine[]} newest first
 */
export function readMine() {
  return read(MINE_KEY);
}

/** @returns {MyAlbum[]} newest first */
export function readAlbums() {
  return read(ALBUMS_KEY);
}

/**
 * Keeps an album with its token. Returns false if the browser has no room for it.
 * @param {MyAlbum} album
 */
export function addAlbum(album) {
  return write(ALBUMS_KEY, [album, ...readAlbums()]);
}

/**
 * Changes what is kept about an album.
 * @param {string} id
 * @param {Partial<MyAlbum>} change
 */
export function changeAlbum(id, change) {
  write(
    ALBUMS_KEY,
    readAlbums().map((one) => (one.id === id ? { ...one, ...change } : one)),
  );
}

/** @param {string} id */
export function removeAlbum(id) {
  write(
    ALBUMS_KEY,
    readAlbums().filter((one) => one.id !== id),
  );
}

/** @param {string} key */
function read(key) {
  try {
    const list = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(list) ? list.filter((one) => typeof one?.id === 'string') : [];
  } catch {
    return [];
  }
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
export function addMine({
  id,
  filename,
  url,
  raw_url,
  protected: isProtected,
  max_views,
  delete_token,
  expires_at,
  review,
}) {
  // A picture with limited views has no thumbnail either.
  const isHidden = isProtected || (max_views ?? null) !== null;
  const one = {
    id,
    filename,
    url,
    raw_url,
    protected: isHidden,
    delete_token,
    expires_at: expires_at ?? null,
    ...(review && { review }),
  };
  return write(MINE_KEY, [one, ...readMine().filter((other) => other.id !== id)]);
}

/** @param {string} id */
export function removeMine(id) {
  const list = readMine();
  if (list.some((one) => one.id === id))
    write(
      MINE_KEY,
      list.filter((one) => one.id !== id),
    );
}

/**
 * Changes what is kept about a picture. Returns whether anything has changed.
 * @param {string} id
 * @param {{ [Name in keyof Mine]?: Mine[Name] | undefined }} change
 */
export function changeMine(id, change) {
  const list = readMine();
  const changed = list.map((one) => (one.id === id ? { ...one, ...change } : one));
  if (JSON.stringify(changed) === JSON.stringify(list)) return false;
  write(MINE_KEY, changed);
  return true;
}

export function forgetMine() {
  write(MINE_KEY, []);
  write(ALBUMS_KEY, []);
}

/**
 * Adds the pictures and albums of another list. What is known already stays as it is. Returns how many were added, or
 * `null` if the browser has no room for all.
 * @param {readonly Mine[]} pictures
 * @param {readonly MyAlbum[]} albums
 */
export function mergeMine(pictures, albums) {
  const [mine, made] = [readMine(), readAlbums()];
  const isNew = (/** @type {{ id: string }[]} */ known) => {
    const ids = new Set(known.map(({ id }) => id));
    return (/** @type {{ id: string }} */ { id }) => !ids.has(id);
  };
  const added = { pictures: pictures.filter(isNew(mine)), albums: albums.filter(isNew(made)) };
  if (write(MINE_KEY, [...mine, ...added.pictures]) && write(ALBUMS_KEY, [...made, ...added.albums]))
    return added.pictures.length + added.albums.length;
  write(MINE_KEY, mine);
  return null;
}

/**
 * Reports whether the list could be stored.
 * @param {string} key
 * @param {readonly object[]} list
 */
function write(key, list) {
  try {
    localStorage.setItem(key, JSON.stringify(list));
    return true;
  } catch {
    return false;
  }
}
