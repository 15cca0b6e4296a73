// @ts-check
import { say } from './dom.js';
import { faultOfAnswer, PASSING } from './faults.js';
import { findAlbum } from './mine.js';
import { withdraw } from './undo.js';

/** The album of this browser that the page's URL names: uploads go there. */
export const album = findAlbum(new URLSearchParams(location.search).get('album'));

/**
 * How long to wait before a lost connection is retried, in ms, if the browser does not report that it is back online.
 */
const PAUSE_MS = 2000;
/** If the server counts uploads, how long it is waited for at most, in seconds. */
const MOST_WAIT = 60;

/**
 * @typedef {{
 *   sent(share: number): void,
 *   lost(words: string): void,
 *   done(image: import('./upload-card.js').Uploaded): void,
 *   failed(words: string, mayWorkLater: boolean): void,
 * }} Course the course of an upload; `lost`: it will be retried automatically
 */

/** A picture that the server fetches from its URL, in the place of a file. */
export class LinkedFile extends File {
  /** @param {string} url */
  constructor(url) {
    const { pathname, host } = new URL(url);
    super([], pathname.split('/').pop() || host);
    this.url = url;
  }
}

/** The fields of an upload, for each try. By `key`, the server knows what it has stored although its answer was lost. */
export class Body extends FormData {
  key = crypto.getRandomValues(new Uint32Array(4)).join('-');
}

/**
 * Sends one file. A lost connection is retried once when the network is back; a server that counts uploads is asked
 * again when it says. Returns a function that cancels it.
 * @param {HTMLFormElement} form with the URL and the names of the fields
 * @param {Body} body
 * @param {Course} course
 */
export function sendFile(form, body, course) {
  const token = tokenOf(form);
  let isUnwanted = false;
  /** Whether the server may have stored it although no answer came. */
  let mayBeStored = false;
  let isLost = false;
  let request = post();
  let stopWaiting = () => {};

  /** Uses XMLHttpRequest, because fetch does not report how much has been sent. */
  function post() {
    const mayHaveBeen = mayBeStored;
    // What is small is stored before any progress is told.
    mayBeStored = true;
    const sending = new XMLHttpRequest();
    sending.open('POST', form.action);
    sending.setRequestHeader('accept', 'application/json');
    sending.setRequestHeader('idempotency-key', body.key);
    if (token !== '') sending.setRequestHeader('authorization', `Bearer ${token}`);
    sending.responseType = 'json';
    sending.upload.addEventListener('progress', ({ loaded, total }) => {
      mayBeStored = mayHaveBeen || loaded === total;
      if (isUnwanted && !mayBeStored) sending.abort();
      else course.sent(loaded / total);
    });
    sending.addEventListener('load', () => {
      mayBeStored = mayHaveBeen;
      const { status, response } = sending;
      const isGood = status >= 200 && status < 300;
      // The clock of this browser may be wrong.
      const ahead = (Date.parse(sending.getResponseHeader('date') ?? '') || Date.now()) - Date.now();
      if (isGood && response?.success === true)
        return isUnwanted ? withdraw(response) : course.done({ ...response, ahead });
      const wait = Number(sending.getResponseHeader('retry-after'));
      if (status === 429 && wait > 0 && wait <= MOST_WAIT) return again(say('paused'), wait * 1000);
      // A page that something between has sent, such as a login, is no answer.
      void fail(isGood ? 0 : status, response);
    });
    const lost = () => {
      sending.abort();
      if (isLost) return void fail(0, null);
      isLost = true;
      again(say('reconnecting'));
    };
    sending.addEventListener('error', lost);
    // If the network goes down, the connection may take minutes to notice.
    addEventListener('offline', lost);
    sending.addEventListener('loadend', () => removeEventListener('offline', lost));
    if (!body.has('url')) sending.send(body);
    else {
      sending.setRequestHeader('content-type', 'application/json');
      sending.send(JSON.stringify(Object.fromEntries(body)));
    }
    return sending;
  }

  /** @param {string} words @param {number} [pause] */
  function again(words, pause) {
    if (isUnwanted && !mayBeStored) return;
    course.lost(words);
    stopWaiting = whenBack(() => {
      request = post();
    }, pause);
  }

  /**
   * @param {number} status
   * @param {unknown} answer
   */
  async function fail(status, answer) {
    if (isUnwanted) return;
    // A file that is no longer there breaks the connection off, or seems to be empty.
    if (status === 0 && !(await isReadable(body.get('image'))))
      return course.failed(say('unreadableFile'), false);
    course.failed(faultOfAnswer(status, answer, form), PASSING.includes(status));
  }

  return () => {
    isUnwanted = true;
    // What may be stored is deleted by its answer, whose token is nowhere else.
    if (mayBeStored) return;
    stopWaiting();
    request.abort();
  };
}

/** @param {unknown} file anything but a file is readable */
async function isReadable(file) {
  if (!(file instanceof File)) return true;
  const start = file.slice(0, 1).arrayBuffer();
  return start.then(({ byteLength }) => byteLength > 0).catch(() => false);
}

/**
 * Returns the token that the visitor entered, or an empty string if uploading needs none.
 * @param {HTMLFormElement} form
 */
export function tokenOf(form) {
  const input = form.querySelector('#token');
  return input instanceof HTMLInputElement ? input.value.trim() : '';
}

/**
 * Returns the file with the current fields of the form.
 * @param {HTMLFormElement} form
 * @param {File} file
 */
export function bodyOf(form, file) {
  const body = new Body(form);
  if (album) {
    body.set('album', album.id);
    body.set('album_token', album.token);
  }
  // The field is hidden then, and would contradict the choice.
  if (body.get('visibility') !== 'protected') body.delete('password');
  body.delete('image');
  if (file instanceof LinkedFile) body.set('url', file.url);
  else body.set('image', file, file.name);
  return body;
}

/** Scaled to fit, a picture with such sides, as of a conversation, cannot be read. */
const LONG = 3;
const MOST_PIXELS = 40e6;
/** Of WebP, in pixels. */
const MOST_SIDE = 16_383;

/**
 * Asks for the full size of a long picture, unless the visitor has chosen a size.
 * @param {HTMLFormElement} form
 * @param {FormData} body
 * @param {{ width: number, height: number } | null} sides
 */
export function keepReadable(form, body, sides) {
  if (sides === null) return;
  const [short, long] = [sides.width, sides.height].sort((a, b) => a - b);
  const isLong = long !== undefined && short !== undefined && long > LONG * short;
  if (!isLong || long * short > MOST_PIXELS) return;
  const names = ['max_width', 'max_height'];
  if (names.some((name) => body.get(name))) return;
  for (const name of names) {
    const input = form.elements.namedItem(name);
    const most = input instanceof HTMLInputElement ? Number(input.max) : 0;
    if (most > 0) body.set(name, String(Math.min(long, most, MOST_SIDE)));
  }
}

/**
 * Calls back when the network, or the server, may be back. Returns a function that cancels it.
 * @param {() => void} then
 * @param {number} [pause] in ms
 */
function whenBack(then, pause = PAUSE_MS) {
  if (!navigator.onLine) {
    addEventListener('online', then, { once: true });
    return () => removeEventListener('online', then);
  }
  const timer = setTimeout(then, pause);
  return () => clearTimeout(timer);
}
