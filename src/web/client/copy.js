// @ts-check
import { announce, byId, say } from './dom.js';

const DONE_MS = 1600;

/**
 * Puts a text into the clipboard. Browsers offer their clipboard to secure pages alone; elsewhere a selection is copied.
 * @param {string} text
 */
export async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  if (!done) throw new Error('this browser does not let pages copy');
}

/**
 * Copies and shows on the button that it was done, or that it could not be.
 * @param {HTMLElement} button
 * @param {string | Promise<string>} text
 */
export async function copyBy(button, text) {
  const label = button.querySelector('span') ?? button;
  const before = button.dataset.label ?? label.textContent ?? '';
  button.dataset.label = before;
  try {
    await copyText(await text);
    label.textContent = say('copied');
    button.classList.add('done');
    announce(say('copied'));
  } catch {
    label.textContent = say('notCopied');
    announce(say('copyFailed'));
  }
  setTimeout(() => {
    label.textContent = before;
    button.classList.remove('done');
  }, DONE_MS);
}

document.addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest('[data-copy], [data-copy-from]') : null;
  if (!(button instanceof HTMLElement)) return;
  const { copy, copyFrom } = button.dataset;
  if (copy !== undefined) return void copyBy(button, copy);
  const source = byId(copyFrom ?? '', HTMLElement);
  if (source instanceof HTMLInputElement) source.select();
  void copyBy(button, source instanceof HTMLInputElement ? source.value : (source.textContent ?? ''));
});
