// @ts-check
import { make, say } from './dom.js';

/**
 * Shows the link to a picture as a QR code, which the server draws, so that a phone can scan it.
 * @param {{ url: string, filename: string }} image
 */
export function showQrCode({ url, filename }) {
  const { pathname } = new URL(url, location.href);
  const dialog = make(
    'dialog',
    { class: 'qr-dialog', 'aria-label': say('qrCodeOf', { name: filename }) },
    make('img', {
      src: `${pathname}/qr.svg`,
      alt: say('qrCodeOf', { name: filename }),
      width: '320',
      height: '320',
    }),
    make('p', { class: 'small wrap' }, url),
    make('button', { type: 'button', class: 'quiet', click: () => dialog.close() }, say('close')),
  );
  // A click outside its content is one on the dialog itself.
  dialog.addEventListener('click', ({ target }) => target === dialog && dialog.close());
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
