// @ts-check
import { finishPage, manage } from './manage.js';
import { addMine, findMine, removeMine } from './mine.js';

// Pictures uploaded by form, or from the menu of a phone, also belong to this browser. The page is shown once they do.
for (const made of document.querySelectorAll('[data-mine]')) {
  addMine(JSON.parse(made.getAttribute('data-mine') ?? '{}'));
  made.removeAttribute('data-mine');
}

// The browser that uploaded it may change it, and delete it even if its address has changed.
const link = document.querySelector('a[data-delete]');
if (link instanceof HTMLAnchorElement) {
  const mine = findMine(link.dataset.delete);
  if (mine) manage(mine, link);
}
finishPage();

const deleted = document.querySelector('[data-deleted]');
if (deleted instanceof HTMLElement) removeMine(deleted.dataset.deleted ?? '');

/** The second half of a double click would use up another view, and perhaps find none. */
const AGAIN_MS = 10_000;
let asked = -AGAIN_MS;
document.querySelector('form[action$="/view"]')?.addEventListener('submit', (event) => {
  if (event.timeStamp < asked + AGAIN_MS) event.preventDefault();
  else asked = event.timeStamp;
});
addEventListener('pageshow', () => {
  asked = -AGAIN_MS;
});

/** @type {Record<string, string>} */
const NEIGHBOURS = { ArrowLeft: 'prev', ArrowRight: 'next' };

document.addEventListener('keydown', ({ key, target, altKey, ctrlKey, metaKey }) => {
  const rel = NEIGHBOURS[key];
  const isTyping =
    target instanceof HTMLElement && target.closest('input, select, textarea, dialog') !== null;
  if (rel === undefined || isTyping || altKey || ctrlKey || metaKey) return;
  const neighbour = document.querySelector(`.neighbours a[rel="${rel}"]`);
  if (neighbour instanceof HTMLAnchorElement) neighbour.click();
});
