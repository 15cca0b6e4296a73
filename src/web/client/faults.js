// @ts-check
import { faultIn, language, readableBytes, readableNumber, say } from './dom.js';

/** Statuses after which a retry may succeed; 0: the connection was lost. */
const PASSING = [0, 401, 408, 429, 500, 502, 503, 504, 507];

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
  busy: () => say('serverBusy'),
  unavailable: () => say('serverBusy'),
  storage_full: () => say('storageFull'),
  unauthorized: () => say('tokenRefused'),
  conflict: () => say('albumFull'),
};
/** Errors whose cause differs from file to file. */
const OF_FILE = ['not_an_image', 'undecodable_image'];
/** Fields of the form that the server checks. */
const FIELDS = /** @type {const} */ (['max_width', 'max_height', 'max_views', 'expires_in', 'password']);

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
 * Returns the invalid fields of the form, each with its error text.
 * @param {HTMLFormElement} form
 * @returns {[field: HTMLInputElement, words: string][]}
 */
export function faultsOfForm(form) {
  const faulty = [...form.querySelectorAll('input')].filter(
    (input) => input.type !== 'file' && !input.validity.valid,
  );
  const faults = faulty.map((input) => /** @type {[HTMLInputElement, string]} */ ([input, ruleOf(input)]));
  const [visibility, password] = ['visibility', 'password'].map((name) => form.elements.namedItem(name));
  const isProtected = visibility instanceof HTMLSelectElement && visibility.value === 'protected';
  if (isProtected && password instanceof HTMLInputElement && password.value === '') {
    faults.push([password, say('passwordMissing')]);
  }
  const views = form.elements.namedItem('max_views');
  const isPublic = visibility instanceof HTMLSelectElement && visibility.value === 'public';
  if (isPublic && views instanceof HTMLInputElement && views.value !== '')
    faults.push([views, say('publicLimited')]);
  return faults;
}

/**
 * Returns the server's error for an upload, in the words and with the labels of the page.
 * @param {number} status
 * @param {any} body
 * @param {HTMLFormElement} form
 * @returns {{ words: string, mayWorkLater: boolean }}
 */
export function faultOfAnswer(status, body, form) {
  const mayWorkLater = PASSING.includes(status);
  return { words: wordsFor(status, body, form), mayWorkLater };
}

/**
 * @param {number} status
 * @param {any} body
 * @param {HTMLFormElement} form
 */
function wordsFor(status, body, form) {
  if (status === 0) return say('connectionLost');
  if (status === 413) return say('tooLargeForServer', { most: readableBytes(Number(form.dataset.maxBytes)) });
  const known = WORDS[body?.code];
  // The server says what kind of file it is, and what to send instead.
  if (known && !(OF_FILE.includes(body.code) && language === 'en')) return known(form);
  const details = Array.isArray(body?.details) ? body.details : [];
  const isFilled = (/** @type {string} */ name) => {
    const input = form.elements.namedItem(name);
    return input instanceof HTMLInputElement && input.value !== '';
  };
  const told = details.map((/** @type {{ field: string, message: string }} */ { field, message }) => {
    // A password would have been the fault before.
    if (field === 'visibility' && isFilled('max_views') && !isFilled('password')) return say('publicLimited');
    const input = form.elements.namedItem(field);
    if (!(input instanceof HTMLInputElement || input instanceof HTMLSelectElement)) {
      return faultIn(status, { error: message });
    }
    return FIELDS.some((known) => known === field)
      ? ruleOf(input)
      : say('notAllowed', { label: labelOf(input) });
  });
  return told.length > 0 ? told.join(' ') : faultIn(status, body);
}

/** @param {HTMLInputElement | HTMLSelectElement} input */
function labelOf(input) {
  return input.labels?.[0]?.textContent?.trim() ?? input.name;
}

/**
 * Returns what is valid in a field, according to its limits.
 * @param {HTMLInputElement | HTMLSelectElement} input
 */
function ruleOf(input) {
  const label = labelOf(input);
  const { max } = input instanceof HTMLInputElement ? input : { max: '' };
  if (max !== '') return say('wholeNumber', { label, most: readableNumber(Number(max)) });
  if (input.id === 'token') return say('tokenMissing');
  return input.name === 'password' ? say('passwordTooLong', { label }) : say('notAllowed', { label });
}
