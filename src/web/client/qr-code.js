// @ts-check
import { make, say } from './dom.js';

/**
 * Shows the link to a picture as a QR code, which the server draws, so that a phone can scan it. It is a popover, because a modal dialog
 * would make the rest of the page inert, which restyles every element.
 * @param {{ url: string, filename: string }} image
 */
export function showQrCode({ url, filename }) {
  const { pathname } = new URL(url, location.href);
  const dialog = make(
    'dialog',
    { class: 'qr-dialog', popover: '', 'aria-label': say('qrCodeOf', { name: filename }) },
    make('img', {
      src: `${pathname}/qr.svg`,
      alt: say('qrCodeOf', { name: filename }),
      width: '320',
      height: '320',
    }),
    make('p', { class: 'small wrap' }, url),
    make('button', { type: 'button', class: 'quiet', click: () => dialog.hidePopover() }, say('close')),
  );
  dialog.addEventListener('toggle', (event) => event.newState === 'closed' && dialog.remove());
  document.body.append(dialog);
  dialog.showPopover();
}
