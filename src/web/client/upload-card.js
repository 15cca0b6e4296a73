// @ts-check
import { listPicture } from './changing.js';
import { showForAWhile } from './copy.js';
import { announce, button, language, make, readableBytes, say, UNITS, words } from './dom.js';
import { timeOf } from './mine.js';
import { shareParts } from './share.js';
import { tickBox } from './ticks.js';

/**
 * The server's answer about a stored picture. `ahead`: by how much the server's clock is ahead of this one, in ms.
 * @typedef {import('./mine.js').Mine & {
 *   raw_url: string, markdown: string, html: string, bbcode: string, delete_url: string,
 *   width: number, height: number, frames: number, size: number, format: string, location: boolean,
 *   visibility: 'public' | 'unlisted' | 'protected', expires_at: string | null, max_views: number | null,
 *   ahead: number, review?: true, removed: string[], warnings: Warning[],
 * }} Uploaded
 * @typedef {{ width?: number, height?: number, bytes?: number }} Extent in pixels, or bytes
 * @typedef {{ code: string, message: string, from?: Extent, to?: Extent }} Warning
 */

/** The reduction is mentioned if the file became at least this much smaller. */
const SMALLER = 0.95;

/** How long an upload waits until its sides are known. */
const LONGEST_LOOK_MS = 500;

/** A picture being uploaded, as the visitor sees it. */
export class UploadCard {
  /** @type {Uploaded | null} */
  image = null;

  /**
   * @param {File} file
   * @param {() => void} onCancel
   */
  constructor(file, onCancel) {
    this.file = file;
    const picture = make('img', { src: URL.createObjectURL(file), alt: '' });
    /** Resolves with the sides of the picture, or `null` if the browser cannot show it or takes long. */
    this.sides = /** @type {Promise<{ width: number, height: number } | null>} */ (
      new Promise((resolve) => {
        picture.addEventListener('load', () =>
          resolve({ width: picture.naturalWidth, height: picture.naturalHeight }),
        );
        // Browsers can show fewer formats than the server accepts.
        picture.addEventListener('error', () => {
          picture.remove();
          resolve(null);
        });
        setTimeout(resolve, LONGEST_LOOK_MS, null);
      })
    );
    this.thumb = make('span', { class: 'thumb' }, picture);
    this.name = make('span', { class: 'upload-name' }, file.name);
    // The size of what the server fetches is not known here.
    const waiting = file.size > 0 ? say('waiting', { size: readableBytes(file.size) }) : '';
    this.facts = make('p', { class: 'small muted' }, waiting);
    this.progress = make('progress', {
      max: '1',
      value: '0',
      'aria-label': say('sending', { name: file.name }),
    });
    this.actions = make('div', { class: 'chips' }, button(say('cancel'), 'quiet small', onCancel));
    const body = make('div', { class: 'upload-body' }, this.name, this.facts, this.progress, this.actions);
    this.element = make('li', { class: 'upload-card' }, this.thumb, body);
  }

  /** @param {number} share */
  sent(share) {
    this.thumb.style.setProperty('--sent', String(0.9 * share));
    if (share < 1) {
      this.progress.value = share;
      const percent = new Intl.NumberFormat(language, { style: 'percent' }).format(share);
      this.facts.textContent = say('sent', { percent, size: readableBytes(this.file.size) });
    } else {
      this.progress.removeAttribute('value');
      this.facts.textContent = say('converting');
    }
  }

  /** Shows why the upload is retried automatically. @param {string} words */
  lost(words) {
    this.progress.removeAttribute('value');
    this.facts.textContent = words;
  }

  /**
   * @param {Uploaded} image
   * @param {boolean} isListed whether there is a gallery
   * @param {() => void} onDelete
   */
  done(image, isListed, onDelete) {
    this.image = image;
    this.thumb.style.removeProperty('--sent');
    this.element.dataset.id = image.id;
    const link = make('a', { class: 'upload-name', href: image.url }, image.filename);
    this.name.replaceWith(link);
    this.name = link;
    this.facts.textContent = factsOf(image, this.file.size);
    this.audience = make('p', { class: 'small seen-by' });
    this.progress.replaceWith(
      this.audience,
      ...(image.review ? [make('p', { class: 'small' }, say('inReview'))] : []),
      ...image.warnings.map((warning) => make('p', { class: 'small warned' }, wordsFor(warning))),
    );
    const { text, copy, others } = shareParts(image);
    this.copy = copy;
    this.shared = text;
    this.actions.before(text);
    const canBeListed =
      isListed && image.visibility !== 'protected' && image.max_views === null && !image.review;
    if (canBeListed) this.listing = this.switchOf(image);
    this.actions.replaceChildren(
      copy,
      ...others,
      ...(this.listing ? [this.listing] : []),
      button(say('delete'), 'quiet danger small', onDelete, say('deleteOf', { name: image.filename })),
    );
    this.element.prepend(tickBox(image.filename));
    this.showAudience();
  }

  /** Returns a switch that moves the picture into the gallery and out of it. @param {Uploaded} image */
  switchOf(image) {
    const move = async () => {
      if (listing.ariaBusy === 'true') return;
      listing.ariaBusy = 'true';
      const wish = image.visibility === 'public' ? 'unlisted' : 'public';
      const { body, fault } = await listPicture(image, wish);
      listing.ariaBusy = null;
      if (fault !== null) return this.complain(fault);
      image.visibility = body.visibility;
      this.element.querySelector('.fault')?.remove();
      this.showAudience();
      announce(say(image.visibility));
    };
    const spoken = say('inGalleryOf', { name: image.filename });
    const listing = button(say('inGallery'), 'switch', () => void move(), spoken);
    listing.setAttribute('role', 'switch');
    return listing;
  }

  /** Shows what another page has changed. @param {import('./mine.js').Mine | null} kept */
  follow(kept) {
    if (!this.image || !kept) return;
    const { filename, expires_at = null, visibility = this.image.visibility } = kept;
    for (const named of this.element.querySelectorAll('[aria-label]'))
      named.ariaLabel = named.ariaLabel?.replace(this.image.filename, () => filename) ?? null;
    Object.assign(this.image, { filename, expires_at, visibility });
    this.name.textContent = filename;
    this.showAudience();
  }

  /** Shows who sees the picture, and warns if everybody learns where it was taken. */
  showAudience() {
    const { image, audience, listing } = this;
    if (!image || !audience) return;
    listing?.setAttribute('aria-checked', String(image.visibility === 'public'));
    // It would take the password away.
    listing?.toggleAttribute('hidden', image.visibility === 'protected');
    const isExposed = image.location && image.visibility === 'public';
    audience.replaceChildren(
      audienceOf(image),
      ...(image.location
        ? [' · ', make('strong', isExposed ? { class: 'warned' } : {}, say('locationKept'))]
        : []),
    );
  }

  /** Shows that the link was copied automatically. */
  copied() {
    if (this.copy) showForAWhile(this.copy, say('copied'), true);
    announce(say('copiedByItself'));
    this.shared?.after(make('p', { class: 'small good' }, say('copiedByItself')));
  }

  /**
   * Shows what the visitor must know as long as the card is there.
   * @param {string} words
   */
  warn(words) {
    this.actions.after(make('p', { class: 'small warned wrap', role: 'alert' }, words));
  }

  /**
   * Shows that an action on a stored picture failed.
   * @param {string} words
   */
  complain(words) {
    this.element.querySelector('.fault')?.remove();
    this.actions.after(make('p', { class: 'fault', role: 'alert' }, words));
  }
}

/**
 * `3.8 MB to 210 KB, location removed · 1600 × 1200 · WebP`
 * @param {Uploaded} image
 * @param {number} before its size as it was sent
 */
function factsOf({ size, removed, width, height, format }, before) {
  const sizes = { before: readableBytes(before), after: readableBytes(size) };
  const parts = [size < before * SMALLER ? say('becameSmaller', sizes) : sizes.after];
  if (removed.includes('location')) parts.push(say('locationRemoved'));
  else if (removed.includes('metadata')) parts.push(say('metadataRemoved'));
  const name = format === 'webp' ? 'WebP' : format.toUpperCase();
  return [parts.join(say('comma')), extentOf({ width, height }), name].join(' · ');
}

/** @param {Uploaded} image */
function audienceOf({ visibility, expires_at, max_views, ahead }) {
  const parts = [say(visibility)];
  if (max_views !== null) parts.push(say('viewsLimited', { count: max_views }));
  if (expires_at !== null && expires_at !== 'never') {
    parts.push(say('expires', { when: within(timeOf(expires_at) - Date.now() - ahead) }));
  }
  return parts.join(' · ');
}

/**
 * `in 30 days`
 * @param {number} left in ms
 */
function within(left) {
  // Allows for the time of the answer.
  const ms = left + 30_000;
  const [unit, length] = UNITS.find((one) => ms >= one[1]) ?? UNITS[3];
  return new Intl.RelativeTimeFormat(language).format(Math.max(1, Math.floor(ms / length)), unit);
}

/**
 * `The picture was scaled down to the size limit. 800 × 7000 to 468 × 4096.` A later version of the server may warn of more.
 * @param {Warning} warning
 */
function wordsFor({ code, message, from, to }) {
  if (!(code in words)) return message;
  const loss = say(/** @type {import('./dom.js').Key} */ (code));
  return from && to ? say('changedBy', { words: loss, from: extentOf(from), to: extentOf(to) }) : loss;
}

/** @param {Extent} extent */
function extentOf({ width, height, bytes = 0 }) {
  return width === undefined ? readableBytes(bytes) : `${width}\u00a0×\u00a0${height}`;
}
