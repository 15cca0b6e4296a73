// @ts-check
import { faultOfAnswer } from './faults.js';

/** How long to wait before a lost connection is tried again, in ms, if the browser does not say when it is back. */
const PAUSE_MS = 2000;

/**
 * @typedef {{
 *   sent(share: number): void,
 *   lost(): void,
 *   done(image: import('./upload-card.js').Uploaded): void,
 *   failed(words: string, mayWorkLater: boolean): void,
 * }} Course what becomes of an upload; `lost`: it will be tried once more, on its own
 */

/**
 * Sends one file. A lost connection is tried once more when the network is back. Returns how to stop it.
 * @param {HTMLFormElement} form says where to, and what its fields are called
 * @param {FormData} body
 * @param {Course} course
 */
export function sendFile(form, body, course) {
  const token = tokenOf(form);
  let request = post(true);
  let stopWaiting = () => {};

  /**
   * XMLHttpRequest, because fetch does not tell how much has been sent.
   * @param {boolean} isFirst
   */
  function post(isFirst) {
    const sending = new XMLHttpRequest();
    sending.open('POST', form.action);
    sending.setRequestHeader('accept', 'application/json');
    if (token !== '') sending.setRequestHeader('authorization', `Bearer ${token}`);
    sending.responseType = 'json';
    sending.upload.addEventListener('progress', ({ loaded, total }) => course.sent(loaded / total));
    sending.addEventListener('load', () => {
      if (sending.status >= 200 && sending.status < 300) return course.done(sending.response);
      fail(sending.status, sending.response);
    });
    const lost = () => {
      sending.abort();
      if (!isFirst) return fail(0, null);
      course.lost();
      stopWaiting = whenBack(() => {
        request = post(false);
      });
    };
    sending.addEventListener('error', lost);
    // Where the network goes, the connection may take minutes to notice.
    addEventListener('offline', lost);
    sending.addEventListener('loadend', () => removeEventListener('offline', lost));
    sending.send(body);
    return sending;
  }

  /**
   * @param {number} status
   * @param {unknown} answer
   */
  function fail(status, answer) {
    const { words, mayWorkLater } = faultOfAnswer(status, answer, form);
    course.failed(words, mayWorkLater);
  }

  return () => {
    stopWaiting();
    request.abort();
  };
}

/**
 * The token that the visitor has typed in, where only holders of tokens may upload, else empty.
 * @param {HTMLFormElement} form
 */
export function tokenOf(form) {
  const input = form.querySelector('#token');
  return input instanceof HTMLInputElement ? input.value.trim() : '';
}

/**
 * The file with the fields of the form as they are now.
 * @param {HTMLFormElement} form
 * @param {File} file
 */
export function bodyOf(form, file) {
  const body = new FormData(form);
  // It is out of sight then, and would contradict the choice.
  if (body.get('visibility') !== 'protected') body.delete('password');
  body.set('image', file, file.name);
  return body;
}

/**
 * Calls back when the network may be there again; returns how not to.
 * @param {() => void} then
 */
function whenBack(then) {
  if (!navigator.onLine) {
    addEventListener('online', then, { once: true });
    return () => removeEventListener('online', then);
  }
  const timer = setTimeout(then, PAUSE_MS);
  return () => clearTimeout(timer);
}
