// @ts-check

export const TOKEN_KEY = 'picpool-token';

/** @typedef {'localStorage' | 'sessionStorage'} Area */

/**
 * Returns what this browser has kept; `null` if there is nothing, or the browser refuses.
 * @param {string} key
 * @param {Area} [area] Default: `localStorage`
 */
export function recall(key, area = 'localStorage') {
  try {
    return globalThis[area].getItem(key);
  } catch {
    return null;
  }
}

/**
 * Keeps a value, and reports whether the browser has room for it. `null` removes it.
 * @param {string} key
 * @param {string | null} value
 * @param {Area} [area] Default: `localStorage`
 */
export function keep(key, value, area = 'localStorage') {
  try {
    if (value === null) globalThis[area].removeItem(key);
    else globalThis[area].setItem(key, value);
    return true;
  } catch {
    return false;
  }
}

/** @param {string} prefix */
export function keysWith(prefix) {
  try {
    return Object.keys(localStorage).filter((key) => key.startsWith(prefix));
  } catch {
    return [];
  }
}
