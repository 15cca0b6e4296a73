// @ts-check
import { make, readableBytes } from './dom.js';

/** Snippets to copy: what the button says, and the field of the answer. */
const SNIPPETS = [
  ['Link', 'url'],
  ['Direct link', 'raw_url'],
  ['Markdown', 'markdown'],
  ['HTML', 'html'],
  ['BBCode', 'bbcode'],
];

/**
 * What the server says about a stored picture.
 * @typedef {import('./mine.js').Mine & { width: number, height: number, size: number, format: string, warnings: { message: string }[] } & Record<string, unknown>} Uploaded
 */

/**
 * A picture on its way, as the visitor sees it.
 * @typedef {{
 *   element: HTMLElement,
 *   sent(share: number): void,
 *   done(image: Uploaded, onDelete: () => void): void,
 *   failed(words: string, onRetry: (() => void) | null): void,
 * }} Card
 */

/**
 * @param {File} file
 * @param {() => void} onCancel
 * @returns {Card}
 */
export function createCard(file, onCancel) {
  const preview = URL.createObjectURL(file);
  const picture = make('img', { src: preview, alt: '' });
  picture.addEventListener('error', () => picture.remove());
  const progress = make('progress', { max: '1', value: '0', 'aria-label': `Sending ${file.name}` });
  const state = make('span', { class: 'small muted' }, `${readableBytes(file.size)}, waiting`);
  const actions = make(
    'div',
    { class: 'chips' },
    make('button', { type: 'button', class: 'quiet small', click: onCancel }, 'Cancel'),
  );
  const body = make(
    'div',
    { class: 'upload-body' },
    make('p', { class: 'upload-head' }, make('span', { class: 'upload-name' }, file.name), state),
    progress,
    actions,
  );
  const element = make('li', { class: 'upload-card' }, make('span', { class: 'thumb' }, picture), body);

  return {
    element,
    sent(share) {
      if (share < 1) {
        progress.value = share;
        state.textContent = `${Math.round(share * 100)} % of ${readableBytes(file.size)}`;
      } else {
        progress.removeAttribute('value');
        state.textContent = 'Sent; the server converts it';
      }
    },
    done(image, onDelete) {
      progress.remove();
      state.textContent = `${image.width} × ${image.height}, ${image.format}, ${readableBytes(image.size)}`;
      actions.before(...image.warnings.map(({ message }) => make('p', { class: 'small warned' }, message)));
      actions.replaceChildren(
        ...SNIPPETS.map(([label = '', field = '']) =>
          make(
            'button',
            {
              type: 'button',
              class: 'copy',
              'data-copy': String(image[field]),
              'aria-label': `Copy ${label} of ${image.filename}`,
            },
            make('span', {}, label),
          ),
        ),
        make('a', { class: 'button quiet small', href: image.url }, 'Open'),
        make('button', { type: 'button', class: 'quiet danger small', click: onDelete }, 'Delete'),
      );
    },
    failed(words, onRetry) {
      progress.remove();
      state.textContent = readableBytes(file.size);
      const retry =
        onRetry && make('button', { type: 'button', class: 'quiet small', click: onRetry }, 'Try again');
      actions.replaceChildren(
        make('p', { class: 'fault' }, words),
        ...(retry ? [retry] : []),
        make('button', { type: 'button', class: 'quiet small', click: () => element.remove() }, 'Dismiss'),
      );
    },
  };
}
