// @ts-check
import { faultIn, language, readableBytes, say } from './dom.js';

/** Statuses after which a retry may succeed; 0: the connection was lost. */
export const PASSING = [0, 401, 408, 429, 500, 502, 503, 504, 507];

/**
 * The page's texts for errors, by the server's code.
 * @type {Record<string, (form: HTMLFormElement) => string>}
 */
const WORDS = {
  not_an_image: (form) => say('notAPicture', { accepted: form.dataset.accepted ?? '' }),
  undecodable_image: () => say('damagedPicture'),
  image_limit: () => say('tooManyPixels'),
  conversion_timeout: () => say('tookTooLong'),
  rate_limited: () => say('tooManyUploads'),
  busy: () => say('notNow'),
  unavailable: () => say('notNow'),
  storage_full: () => say('noSpace'),
  unauthorized: () => say('tokenRefused'),
  conflict: () => say('albumFull'),
};
/** Errors whose cause differs from file to file. */
const OF_FILE = ['not_an_image', 'undecodable_image'];

/**
 * Returns why a file cannot be sent, or `null`.
 * @param {File} file
 * @param {HTMLFormElement} form
 */
export function faultOfFile(file, form) {
  if (file.size === 0) return say('emptyFile');
  const most = Number(form.dataset.maxBytes);
  if (file.size <= most) return null;
  return say('tooLarge', { size: readableBytes(file.size), most: readableBytes(most) });
}

/**
 * Returns the first invalid field of the form, with words for what the browser does not know.
 * @param {HTMLFormElement} form
 * @returns {[field: HTMLInputElement, words: string] | null}
 */
export function faultOfForm(form) {
  const [visibility, password, views] = ['visibility', 'password', 'max_views'].map((name) =>
    form.elements.namedItem(name),
  );
  const seenBy = visibility instanceof HTMLSelectElement ? visibility.value : '';
  if (password instanceof HTMLInputElement) password.required = seenBy === 'protected';
  if (views instanceof HTMLInputElement) views.setCustomValidity('');
  const invalid = [...form.querySelectorAll('input')].find(
    (input) => input.type !== 'file' && !input.validity.valid,
  );
  if (invalid) return [invalid, ''];
  const isLimited = views instanceof HTMLInputElement && views.value !== '';
  return seenBy === 'public' && isLimited ? [views, say('publicLimited')] : null;
}

/**
 * Returns the server's error for an upload, in the words and with the labels of the page.
 * @param {number} status
 * @param {any} body
 * @param {HTMLFormElement} form
 */
export function faultOfAnswer(status, body, form) {
  if (status === 0) return say('connectionLost');
  if (status === 413) return say('tooLargeForServer', { most: readableBytes(Number(form.dataset.maxBytes)) });
  const known = WORDS[body?.code];
  // The server says what kind of file it is, and what to send instead.
  if (known && !(OF_FILE.includes(body.code) && language === 'en')) return known(form);
  const details = Array.isArray(body?.details) ? body.details : [];
  const told = details.map((/** @type {{ field: string, message: string }} */ { field, message }) => {
    const input = form.elements.namedItem(field);
    if (!(input instanceof HTMLInputElement || input instanceof HTMLSelectElement))
      return faultIn(status, { error: message });
    return say('notAllowed', { label: input.labels?.[0]?.textContent?.trim() ?? input.name });
  });
  return told.length > 0 ? told.join(' ') : faultIn(status, body);
}
