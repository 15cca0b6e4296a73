// @ts-check

/**
 * A picture that this browser has uploaded, and may delete.
 * @typedef {{ id: string, filename: string, url: string, raw_url: string, protected: boolean, delete_token: string,
 * expires_at?: string | null }} Mine
 */

export const MINE_KEY = 'picpool:mine';
const MOST = 200;

/** @returns {Mine[]} newest first, without expired ones */
export function readMine() {
  try {
    const list = JSON.parse(localStorage.getItem(MINE_KEY) ?? '[]');
    return Array.isArray(list) ? list.filter((one) => typeof one?.id === 'string' && !isOver(one)) : [];
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

/** @param {Mine} one */
function isOver({ expires_at }) {
  if (!expires_at || expires_at === 'never') return false;
  return timeOf(expires_at) <= Date.now();
}

/** @param {Mine & { max_views?: number | null }} uploaded */
export function addMine({
  id,
  filename,
  url,
  raw_url,
  protected: isProtected,
  max_views,
  delete_token,
  expires_at,
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
  };
  write([one, ...readMine().filter((other) => other.id !== id)].slice(0, MOST));
}

/** @param {string} id */
export function removeMine(id) {
  write(readMine().filter((one) => one.id !== id));
}

export function forgetMine() {
  write([]);
}

/** @param {Mine[]} list */
function write(list) {
  try {
    localStorage.setItem(MINE_KEY, JSON.stringify(list));
  } catch {
    // If the browser refuses to store it, only the list is lost.
  }
}
