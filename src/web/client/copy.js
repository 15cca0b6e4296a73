// @ts-check
import { announce, byId, make, say } from './dom.js';

const DONE_MS = 1600;

/**
 * Copies a text to the clipboard. Browsers offer the clipboard only to secure pages; elsewhere a selection is copied.
 * @param {string} text
 */
async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const focused = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  if (!done) throw new Error('this browser does not allow copying');
}

/**
 * Copies a text that is not available yet. Browsers that accept a promise allow this even if the text arrives after
 * the visitor's click.
 * @param {Promise<string>} text
 */
export async function copyLater(text) {
  if (!navigator.clipboard || typeof ClipboardItem === 'undefined') return copyText(await text);
  const type = 'text/plain';
  const blob = text.then((known) => new Blob([known], { type }));
  return navigator.clipboard.write([new ClipboardItem({ [type]: blob })]);
}

/**
 * Copies a text, and shows the result on the button.
 * @param {HTMLElement} button
 * @param {string | Promise<string>} text
 */
export async function copyBy(button, text) {
  try {
    await copyLater(Promise.resolve(text));
    showForAWhile(button, say('copied'), true);
    announce(say('copied'));
  } catch {
    showForAWhile(button, say('notCopied'), false);
    announce(say('copyFailed'));
  }
}

/**
 * @param {HTMLElement} button
 * @param {string} words instead of its label
 * @param {boolean} done
 */
export function showForAWhile(button, words, done) {
  const label = button.querySelector('span') ?? button;
  const before = button.dataset.label ?? label.textContent ?? '';
  button.dataset.label = before;
  label.textContent = words;
  button.classList.toggle('done', done);
  setTimeout(() => {
    label.textContent = button.dataset.label ?? before;
    button.classList.remove('done');
  }, DONE_MS);
}

/**
 * @param {string} label
 * @param {'copy' | 'copy-link'} style
 * @param {string} text
 * @param {Record<string, string>} [more] attributes
 */
export function copyButton(label, style, text, more) {
  const attributes = { type: 'button', class: style, 'data-copy': text, ...more };
  return make('button', attributes, make('span', {}, label));
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
