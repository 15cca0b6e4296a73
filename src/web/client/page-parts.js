// @ts-check
import { byId, faultIn } from './dom.js';

/** Event on the document when parts of the page were replaced. */
export const REPLACED = 'parts-replaced';

/**
 * Fetches another state of this page, because only the server renders it.
 * @param {string} url
 * @param {RequestInit} [init]
 * @returns {Promise<Document>} rejects with a message if there is none
 */
export async function fetchPage(url, init) {
  const headers = { accept: 'text/html', ...init?.headers };
  const lost = (/** @type {unknown} */ error) => {
    throw init?.signal?.aborted ? error : new Error(faultIn(0, null));
  };
  const answer = await fetch(url, { ...init, headers }).catch(lost);
  if (!answer.ok) throw new Error(faultIn(answer.status, await answer.json().catch(() => null)));
  const page = new DOMParser().parseFromString(await answer.text().catch(lost), 'text/html');
  // A page that something between has sent, such as a login, is no answer, nor is the beginning of one.
  if (page.getElementById('announcer') === null) throw new Error(faultIn(0, null));
  return page;
}

/** Attributes by which an element is found again after its part was replaced. */
const MARKS = ['id', 'data-sort', 'rel', 'data-copy-row', 'aria-label', 'href'];

/** @param {Element | null} element */
function markOf(element) {
  const name = MARKS.find((mark) => element?.hasAttribute(mark));
  return name === undefined ? null : `[${name}="${CSS.escape(element?.getAttribute(name) ?? '')}"]`;
}

/**
 * Replaces the contents of elements by those in another page. The focus stays where it was if that still exists.
 * @param {Document} page
 * @param {readonly string[]} ids
 * @param {boolean} [isUnasked] then a part in which somebody has selected something stays as it is
 */
export function replaceFrom(page, ids, isUnasked = false) {
  for (const id of ids) {
    const here = document.getElementById(id);
    const there = page.getElementById(id);
    if (!here || !there || here.innerHTML === there.innerHTML) continue;
    const selection = getSelection();
    if (isUnasked && !selection?.isCollapsed && here.contains(selection?.anchorNode ?? null)) continue;
    const left = here.querySelector('.table-wrap')?.scrollLeft ?? 0;
    const mark = here.contains(document.activeElement) ? markOf(document.activeElement) : null;
    here.replaceChildren(...there.childNodes);
    here.querySelector('.table-wrap')?.scrollTo({ left, behavior: 'instant' });
    const again = mark === null ? null : here.querySelector(mark);
    if (again instanceof HTMLElement) again.focus({ preventScroll: true });
  }
  document.dispatchEvent(new Event(REPLACED));
}

/** @type {AbortController | null} */
let asking = null;
/** Parts that are yet to be shown. @type {Set<string>} */
const missing = new Set();

/**
 * Shows another state of the page in place, with its results marked as busy meanwhile. Of concurrent calls only the
 * latest counts, and replaces the parts of all: the others never resolve. Resolves with what went wrong, or `null`.
 * @param {string} url
 * @param {readonly string[]} ids
 * @returns {Promise<string | null>}
 */
export async function showInPlace(url, ids) {
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  for (const id of ids) missing.add(id);
  const results = byId('results', HTMLElement);
  results.setAttribute('aria-busy', 'true');
  let fault = null;
  try {
    replaceFrom(await fetchPage(url, { signal }), [...missing]);
    missing.clear();
  } catch (error) {
    if (signal.aborted) return new Promise(() => {});
    fault = error instanceof Error ? error.message : String(error);
  }
  results.removeAttribute('aria-busy');
  return fault;
}
