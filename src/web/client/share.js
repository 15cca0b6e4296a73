// @ts-check
import { copyBy } from './copy.js';
import { button, make, say } from './dom.js';
import { chosenForm, formMenu, nameOf, textOf } from './link-forms.js';

/**
 * A picture with its links, as the server names them.
 * @typedef {{ id: string, filename: string, url: string, raw_url: string, markdown: string, html: string,
 * bbcode: string, width: number, frames: number, visibility: string }} Shared
 */

/**
 * Returns the one way to share a picture: its link in the chosen form, a button that copies it, the menu of the forms,
 * the system's own menu if there is one, and the QR code.
 * @param {Shared} image
 */
export function shareParts(image) {
  const text = make('p', { class: 'share-text' });
  const label = make('span', {});
  const copy = button('', 'copy-link', () => void copyBy(copy, shared()));
  copy.append(label);
  const isEmbeddable = image.visibility !== 'protected';
  const form = () => chosenForm(isEmbeddable);
  const shared = () => textOf(image, form());

  function show() {
    const isLink = form() === 'url' || form() === 'raw_url';
    text.replaceChildren(isLink ? make('a', { href: shared() }, shared()) : make('code', {}, shared()));
    const words = say('copyWhat', { what: nameOf(form()) });
    label.textContent = words;
    copy.dataset.label = words;
    copy.setAttribute('aria-label', say('copyWhatOf', { what: nameOf(form()), name: image.filename }));
  }
  document.addEventListener('formchange', show);
  show();
  const send = () => void navigator.share({ title: image.filename, url: image.url }).catch(() => {});
  return {
    text,
    copy,
    others: [
      formMenu(say('copyAs'), isEmbeddable),
      ...('share' in navigator ? [button(say('share'), 'quiet small extra', send)] : []),
      button(say('qrCode'), 'quiet small extra', () => showQrCode(image)),
    ],
  };
}

/**
 * Returns the same as one element.
 * @param {Shared} image
 */
export function shareRow(image) {
  const { text, copy, others } = shareParts(image);
  return make('div', { class: 'share-row' }, text, make('div', { class: 'chips' }, copy, ...others));
}

/**
 * Shows something above the page. It is a popover, because a modal dialog would make the rest of the page inert, which
 * restyles every element.
 * @param {string} label
 * @param {...Node} content
 */
export function popUp(label, ...content) {
  const close = button(say('close'), 'quiet', () => dialog.hidePopover());
  const dialog = make('dialog', { class: 'popup', popover: '', 'aria-label': label }, ...content, close);
  const opener = document.activeElement;
  dialog.addEventListener('toggle', ({ newState }) => {
    if (newState !== 'closed') return;
    dialog.remove();
    if (document.activeElement === document.body && opener instanceof HTMLElement) opener.focus();
  });
  // What is opened within another stays above it.
  (document.activeElement?.closest('.popup') ?? document.body).append(dialog);
  dialog.showPopover();
  dialog.querySelector('button')?.focus();
}

/**
 * Shows the link to a picture as a QR code, which the server draws, so that a phone can scan it.
 * @param {Shared} image
 */
function showQrCode({ url, filename }) {
  const src = `${new URL(url, location.href).pathname}/qr.svg`;
  const label = say('qrCodeOf', { name: filename });
  popUp(
    label,
    make('img', { src, alt: label, width: '320', height: '320' }),
    make('p', { class: 'small wrap' }, url),
  );
}
