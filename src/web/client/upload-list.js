// @ts-check
import { makeAlbum } from './album.js';
import { copyBy, copyLater } from './copy.js';
import { announce, button, byId, make, say } from './dom.js';
import { faultOfFile } from './faults.js';
import { chosenForm, formMenu, textOf } from './link-forms.js';
import { addMine, findMine, onOthersChange, readMine } from './mine.js';
import { checkMine, showMine } from './mine-list.js';
import { bodyOf, keepReadable, LinkedFile, sendFile } from './sending.js';
import { chooseIn } from './ticks.js';
import { checkPicture, deleteSoon, onAside, onGone, takeOut } from './undo.js';
import { UploadCard } from './upload-card.js';

/** Uploads at once, because the server has few cores. */
const MOST_AT_ONCE = 2;
/** With more cards than this, they are shown as lines. */
const MOST_LARGE = 3;

/**
 * A file being uploaded, or its result.
 * @typedef {{
 *   card: UploadCard,
 *   state: 'waiting' | 'sending' | 'done' | 'failed',
 *   start(): void,
 *   stop(): void,
 *   retry: (() => void) | null,
 *   why: string,
 *   settle(link: string | null): void,
 * }} Upload
 */

const stage = byId('uploader', HTMLElement);
const section = byId('uploads', HTMLElement);
const title = byId('uploads-title', HTMLElement);
const cards = byId('cards', HTMLUListElement);
const together = byId('uploads-actions', HTMLElement);
const file = byId('file', HTMLInputElement);

/**
 * In the order in which they are shown.
 * @type {Upload[]}
 */
let uploads = [];
/** @param {Upload['state']} state */
const inState = (state) => uploads.filter((one) => one.state === state);

/**
 * Sends files with the current form, and shows their progress and results.
 * @param {HTMLFormElement} form
 * @param {readonly File[]} files
 * @param {boolean} pasted
 */
export function addFiles(form, files, pasted) {
  const added = files.map((one) => uploadOf(form, one));
  uploads = [...uploads, ...added];
  withoutJump(() => {
    cards.append(...added.map(({ card }) => card.element));
    show();
  });
  const [only, ...others] = added;
  only?.card.element.scrollIntoView({ block: 'nearest' });
  if (pasted && only && others.length === 0) copyWhenDone(only);
  startNext();
}

/**
 * @param {HTMLFormElement} form
 * @param {File} file
 * @param {import('./sending.js').Body} [body] of an earlier try. Default: from the form as it is
 * @returns {Upload}
 */
function uploadOf(form, file, body = bodyOf(form, file)) {
  const card = new UploadCard(file, () => cancel(upload));
  /** @type {Upload} */
  const upload = {
    card,
    state: 'waiting',
    stop() {},
    retry: null,
    why: '',
    settle() {},
    start() {
      const fault = file instanceof LinkedFile ? null : faultOfFile(file, form);
      if (fault !== null) return failed(fault, false);
      upload.state = 'sending';
      let isWanted = true;
      upload.stop = () => {
        isWanted = false;
      };
      void card.sides.then((sides) => {
        if (!isWanted) return;
        keepReadable(form, body, sides);
        upload.stop = sendFile(form, body, {
          sent: (share) => card.sent(share),
          lost: (words) => card.lost(words),
          ...{ done, failed },
        });
      });
    },
  };

  /** @param {import('./upload-card.js').Uploaded} image */
  function done(image) {
    upload.state = 'done';
    const takesFocus = uploads.length === 1 && mayTakeFocus(card.element);
    card.done(image, form.dataset.listed !== undefined, () => deleteSoon([image]));
    if (!addMine(image)) card.warn(say('notKept', { url: image.delete_url }));
    settled(
      upload,
      image.review
        ? say('waitsForReview', { name: image.filename })
        : say('online', { name: image.filename }),
    );
    if (takesFocus) card.copy?.focus();
    upload.settle(textOf(image, chosenForm(image.visibility !== 'protected')));
  }

  /**
   * @param {string} words
   * @param {boolean} mayWorkLater
   */
  function failed(words, mayWorkLater) {
    upload.state = 'failed';
    upload.retry = mayWorkLater ? () => replace(upload, uploadOf(form, file, body)) : null;
    upload.why = words;
    takeOut(card.element, title);
    settled(upload, say('notUploadedWhy', { name: file.name, why: words }));
    upload.settle(null);
  }
  return upload;
}

function startNext() {
  while (inState('sending').length < MOST_AT_ONCE) {
    const [next] = inState('waiting');
    if (!next) break;
    next.start();
  }
  show();
}

/**
 * Announces the result of a file: separately if there are few, otherwise for all together.
 * @param {Upload} upload
 * @param {string} words
 */
function settled(upload, words) {
  startNext();
  const isOver = inState('waiting').length + inState('sending').length === 0;
  if (uploads.length <= MOST_LARGE || upload.state === 'failed') announce(words);
  else if (isOver) announce(title.textContent ?? '');
}

/** @param {Upload} upload */
function cancel(upload) {
  upload.stop();
  upload.settle(null);
  announce(say('cancelled', { name: upload.card.file.name }));
  drop(upload);
}

/** @param {Upload} upload */
function drop(upload) {
  uploads = uploads.filter((one) => one !== upload);
  takeOut(upload.card.element, uploads.length === 0 ? file : title);
  startNext();
  if (uploads.length === 0 && document.activeElement === document.body) file.focus();
}

/**
 * @param {Upload} upload
 * @param {Upload} again
 */
function replace(upload, again) {
  uploads = uploads.map((one) => (one === upload ? again : one));
  cards.append(again.card.element);
  startNext();
}

/** Cards whose pictures are about to be deleted. @type {Upload[]} */
let aside = [];

/**
 * Puts the card of a picture out of sight, or back.
 * @param {import('./undo.js').Aside} change
 */
function putAside({ id, aside: goes, fault }) {
  const upload = (goes ? uploads : aside).find(({ card }) => card.image?.id === id);
  if (!upload) return;
  if (goes) {
    uploads = uploads.filter((one) => one !== upload);
    aside.push(upload);
    takeOut(upload.card.element, uploads.length === 0 ? file : title, false);
  } else {
    aside = aside.filter((one) => one !== upload);
    uploads.push(upload);
    upload.card.element.hidden = false;
    if (fault !== null) upload.card.complain(fault);
  }
  show();
}

onAside(putAside);
onGone((id) => {
  aside = aside.filter(({ card }) => card.image?.id !== id || card.element.remove());
  for (const upload of uploads) if (upload.card.image?.id === id) drop(upload);
});

/**
 * Reports whether the visitor is not busy elsewhere on the page.
 * @param {HTMLElement} element
 */
function mayTakeFocus(element) {
  const { activeElement } = document;
  return activeElement === document.body || activeElement === file || element.contains(activeElement);
}

/** @param {Upload} upload */
function copyWhenDone(upload) {
  /** @type {PromiseWithResolvers<string>} */
  const { promise: link, resolve, reject } = Promise.withResolvers();
  upload.settle = (text) => (text === null ? reject(new Error('there is no link')) : resolve(text));
  // If the browser does not allow it, the button does it.
  copyLater(link).then(
    () => upload.card.copied(),
    () => {},
  );
}

function show() {
  const total = uploads.length;
  const done = inState('done').length;
  const busy = inState('waiting').length + inState('sending').length;
  stage.classList.toggle('has-uploads', total > 0);
  section.hidden = total === 0;
  cards.classList.toggle('compact', total > MOST_LARGE);
  title.textContent = titleOf(total, done, busy);
  together.hidden = done < 2;
  if (total === 0) byId('album', HTMLElement).hidden = true;
  showFailures();
  if (busy > 0) addEventListener('beforeunload', askBeforeLeaving);
  else removeEventListener('beforeunload', askBeforeLeaving);
}

/**
 * @param {number} total
 * @param {number} done
 * @param {number} busy
 */
function titleOf(total, done, busy) {
  if (busy > 0) return total === 1 ? say('uploading') : say('uploadingMany', { done, total });
  const held = uploads.filter(({ card }) => card.image?.review).length;
  if (held > 0 && held === done && done === total) return say('allHeld', { count: held });
  if (held > 0) return say('uploadedAndHeld', { done, total, count: held });
  if (done === total) return say('uploaded', { count: total });
  return say('uploadedSome', { done, total });
}

/** Shows what has failed before everything else: each reason once, with all its files. */
function showFailures() {
  const place = byId('failures', HTMLElement);
  const hadFocus = place.contains(document.activeElement);
  const groups = [...Map.groupBy(inState('failed'), ({ why }) => why)];
  place.replaceChildren(...groups.map(([why, some]) => failureOf(why, some)));
  if (hadFocus) (place.querySelector('button') ?? (uploads.length === 0 ? file : title)).focus();
}

/**
 * @param {string} why
 * @param {readonly Upload[]} some
 */
function failureOf(why, some) {
  const names = some.map(({ card }) => card.file.name).join(', ');
  const click = (/** @type {() => void} */ act) => () => withoutJump(act);
  const dismiss = click(() => {
    uploads = uploads.filter((one) => !some.includes(one));
    startNext();
  });
  const retry = click(() => {
    for (const one of some) one.retry?.();
  });
  return make(
    'li',
    { class: 'upload-card failed' },
    make('p', { class: 'fault' }, why),
    make('p', { class: 'small wrap' }, names),
    make(
      'div',
      { class: 'chips' },
      ...(some[0]?.retry ? [button(say('tryAgain'), 'small', retry)] : []),
      button(say('dismiss'), 'quiet small', dismiss),
    ),
  );
}

/** @param {BeforeUnloadEvent} event */
function askBeforeLeaving(event) {
  event.preventDefault();
}

/**
 * Changes the page and fades in what is below at its new place, so that nothing jumps under a finger.
 * @param {() => void} change
 */
function withoutJump(change) {
  const moved = [...stage.children, ...document.querySelectorAll('#uploader ~ *, main ~ footer')].filter(
    (element) => element !== section && element instanceof HTMLElement && !element.hidden,
  );
  for (const element of moved) element.classList.add('moving');
  change();
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      for (const element of moved) element.classList.remove('moving');
    }),
  );
}

const stored = () => inState('done').flatMap(({ card }) => card.image ?? []);
const albumButton = byId('make-album', HTMLButtonElement);
// Guests make no albums: theirs is chosen.
albumButton.hidden = 'guest' in byId('upload', HTMLFormElement).dataset;
albumButton.addEventListener('click', () => {
  makeAlbum(albumButton, byId('upload', HTMLFormElement), stored);
});
together.prepend(formMenu(say('copyAs')));
byId('add-more', HTMLButtonElement).addEventListener('click', () => file.click());
byId('copy-all', HTMLButtonElement).addEventListener('click', ({ currentTarget }) => {
  const text = stored()
    .map((image) => textOf(image, chosenForm(image.visibility !== 'protected')))
    .join('\n');
  void copyBy(/** @type {HTMLElement} */ (currentTarget), text);
});
chooseIn(cards, byId('chosen-cards', HTMLElement), {
  [say('delete')]: (items) =>
    deleteSoon(stored().filter(({ id }) => items.some(({ dataset }) => dataset.id === id))),
});

/**
 * Follows another page that has deleted pictures, or will.
 * @param {boolean} isAsked whether the server is asked about each picture. Default: only about those no longer known here
 */
function follow(isAsked = false) {
  showMine();
  if (isAsked) void checkMine();
  for (const { id, deleting } of readMine()) putAside({ id, aside: deleting !== undefined, fault: null });
  for (const { card } of uploads) {
    const kept = card.image && findMine(card.image.id);
    card.follow(kept);
    if (card.image && (isAsked || kept === null)) void checkPicture(card.image);
  }
}
addEventListener('online', () => {
  for (const { why, retry } of inState('failed')) if (why === say('connectionLost')) retry?.();
});
addEventListener('pageshow', ({ persisted }) => persisted && follow(true));
onOthersChange(follow);
/** Not for guests: their page has no links to what is not of their album. */
const lists = document.getElementById('lists');
/** Most visits do without it. */
const loadMoving = () => void (lists && import('./move.js'));
lists?.addEventListener('toggle', loadMoving, { once: true });
if (location.hash === '') addEventListener('hashchange', loadMoving, { once: true });
else loadMoving();
showMine();
void checkMine();
document.documentElement.classList.add('knows-mine');
