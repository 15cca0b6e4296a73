// @ts-check
import { make, say } from './dom.js';
import { finishPage, manage } from './manage.js';
import { addMine, findMine, removeMine } from './mine.js';

// Pictures uploaded by form, or from the menu of a phone, also belong to this browser.
for (const made of document.querySelectorAll('[data-mine]'))
  addMine(JSON.parse(made.getAttribute('data-mine') ?? '{}'));

// The browser that uploaded it may change it, and delete it even if its address has changed.
const link = document.querySelector('a[data-delete]');
if (link instanceof HTMLAnchorElement) {
  const mine = findMine(link.dataset.delete);
  if (mine) manage(mine, link);
}
finishPage();

const deleted = document.querySelector('[data-deleted]');
if (deleted instanceof HTMLElement) removeMine(deleted.dataset.deleted ?? '');

const frame = document.querySelector('a[data-zoom]');
if (frame instanceof HTMLAnchorElement) frame.addEventListener('click', (event) => zoom(event, frame));

/**
 * Shows only the picture, as large as the window. A click or Enter switches between that and its full size.
 * @param {MouseEvent} event
 * @param {HTMLAnchorElement} frame
 */
function zoom(event, frame) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const alt = frame.querySelector('img:not(.blur)')?.getAttribute('alt') ?? '';
  const picture = make('img', { src: frame.href, alt });
  const dialog = make(
    'dialog',
    { class: 'zoom', tabindex: '0', 'aria-label': frame.dataset.zoom ?? '' },
    picture,
    make('button', { type: 'button', class: 'quiet small', click: () => dialog.close() }, say('close')),
  );
  /** @param {MouseEvent} [at] */
  const toggle = (at) => {
    const { left, top, width, height } = picture.getBoundingClientRect();
    const across = at ? (at.clientX - left) / width : 0.5;
    const down = at ? (at.clientY - top) / height : 0.5;
    dialog.classList.toggle('full');
    // Keep what was under the pointer in place.
    dialog.scrollTo(
      picture.offsetWidth * across - (at?.clientX ?? innerWidth / 2),
      picture.offsetHeight * down - (at?.clientY ?? innerHeight / 2),
    );
  };
  picture.addEventListener('click', toggle);
  dialog.addEventListener('click', ({ target }) => target === dialog && dialog.close());
  dialog.addEventListener('keydown', (key) => {
    if (key.target === dialog && (key.key === 'Enter' || key.key === ' ')) {
      key.preventDefault();
      toggle();
    }
  });
  dialog.addEventListener('close', () => {
    dialog.remove();
    frame.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  dialog.focus();
}

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
