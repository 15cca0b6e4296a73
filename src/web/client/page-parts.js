// @ts-check
import { faultIn } from './dom.js';

/** Told to the document when parts of the page were replaced. */
export const REPLACED = 'parts-replaced';

/**
 * Another state of this page, as the server renders it: what it renders is rendered nowhere else.
 * @param {string} url
 * @param {RequestInit} [init]
 * @returns {Promise<Document>} rejects with words if there is none
 */
export async function fetchPage(url, init) {
  const headers = { accept: 'text/html', ...init?.headers };
  const answer = await fetch(url, { ...init, headers }).catch((error) => {
    throw init?.signal?.aborted ? error : new Error(faultIn(0, null));
  });
  if (!answer.ok) throw new Error(faultIn(answer.status, await answer.json().catch(() => null)));
  return new DOMParser().parseFromString(await answer.text(), 'text/html');
}

/** By what an element is found again after its part was replaced. */
const MARKS = ['id', 'data-sort', 'rel', 'data-copy-row', 'data-retry', 'aria-label', 'href'];

/** @param {Element | null} element */
function markOf(element) {
  const name = MARKS.find((mark) => element?.hasAttribute(mark));
  return name === undefined ? null : `[${name}="${CSS.escape(element?.getAttribute(name) ?? '')}"]`;
}

/**
 * Puts what is inside of elements of another page instead of what they have here. The focus stays where it was, as far as that is still
 * there.
 * @param {Document} page
 * @param {readonly string[]} ids
 */
export function replaceFrom(page, ids) {
  for (const id of ids) {
    const here = document.getElementById(id);
    const there = page.getElementById(id);
    if (!here || !there || here.innerHTML === there.innerHTML) continue;
    const mark = here.contains(document.activeElement) ? markOf(document.activeElement) : null;
    here.replaceChildren(...there.childNodes);
    const again = mark === null ? null : here.querySelector(mark);
    if (again instanceof HTMLElement) again.focus({ preventScroll: true });
  }
  document.dispatchEvent(new Event(REPLACED));
}
