// @ts-check
export { readableBytes } from './readable-bytes.js';

/**
 * Creates an element. Strings become text, never markup.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string | boolean | EventListener>} [attributes] functions listen to the event of that name
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (typeof value === 'string') element.setAttribute(name, value);
    else element.toggleAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/**
 * @param {string} label
 * @param {string} style its classes
 * @param {EventListener} click
 * @param {string} [spoken] what screen readers say. Default: the label
 */
export function button(label, style, click, spoken) {
  const more = spoken === undefined ? {} : { 'aria-label': spoken };
  return make('button', { type: 'button', class: style, click, ...more }, label);
}

/**
 * Returns the element with that ID. Throws if the page does not have it.
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} type
 * @returns {T}
 */
export function byId(id, type) {
  const element = document.getElementById(id);
  if (element instanceof type) return element;
  throw new Error(`the page has no ${type.name} #${id}`);
}

/**
 * Announces a text to screen readers.
 * @param {string} text
 */
export function announce(text) {
  byId('announcer', HTMLElement).textContent = text;
}

/**
 * @typedef {typeof import('../words/en/scripts.ts').scripts} Scripts
 * @typedef {{ [File in keyof Scripts]: keyof Scripts[File] }[keyof Scripts]} Key
 */

/** @type {Record<string, string | Partial<Record<Intl.LDMLPluralRule, string>>>} */
export const words = JSON.parse(byId('words', HTMLElement).textContent ?? '{}');
export const language = document.documentElement.lang;
const plurals = new Intl.PluralRules(language);
/** Creating one takes longer than all its uses. */
const numbers = new Intl.NumberFormat(language);

/**
 * Returns a text in the language of the page. Names in braces are replaced by the values. Of a text with plurals, the
 * one for `count` is used, with that number in place of `#`.
 * @param {Key} key
 * @param {Record<string, string | number> & { count?: number }} [values]
 */
export function say(key, values = {}) {
  const known = words[key];
  if (known === undefined) throw new Error(`the page has no words for ${key}`);
  const { count = 0 } = values;
  const text = typeof known === 'string' ? known : (known[plurals.select(count)] ?? known.other ?? '');
  return text
    .replaceAll('#', readableNumber(count))
    .replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ''));
}

/**
 * Returns `1,234`, as written in the language of the page.
 * @param {number} value
 */
export function readableNumber(value) {
  return numbers.format(value);
}

/** Units of relative times, with their lengths in ms. */
export const UNITS = /** @type {const} */ ([
  ['year', 365 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]);

/**
 * Texts for statuses in every language.
 * @type {Partial<Record<number, Key>>}
 */
const STATUSES = {
  0: 'unreachable',
  401: 'needsToken',
  403: 'forbidden',
  404: 'notThere',
  409: 'underWay',
  410: 'notThere',
  429: 'tooMany',
  503: 'notNow',
  507: 'noSpace',
};

/**
 * Returns the error of an unsuccessful answer in words. The server's own words are in English.
 * @param {number} status
 * @param {unknown} body
 */
export function faultIn(status, body) {
  const isKnown = typeof body === 'object' && body !== null && 'error' in body;
  // About a token, they speak to programs.
  const isForToken = isKnown && 'code' in body && body.code === 'unauthorized';
  if (isKnown && language === 'en' && !isForToken) return String(body.error);
  return say(STATUSES[status] ?? 'errorStatus', { status });
}

/** A server that is busy, or counts requests, is asked again after this time. */
const PAUSE_MS = 3000;
/** How often, where nobody would ask again. */
const TRIES = 5;

/**
 * Requests JSON from the server. Never rejects: a fault is returned as `{ fault }`. A page that something between has
 * sent in its place, such as a login, is one.
 * @param {string} path
 * @param {RequestInit} [init]
 * @param {readonly number[]} [busy] statuses after which the server is asked again
 * @param {number} [tries]
 * @returns {Promise<{ body: any, status: number, fault: string | null }>}
 */
export async function ask(path, init, busy = [], tries = TRIES) {
  try {
    const answer = await fetch(path, init);
    if (tries > 1 && busy.includes(answer.status)) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      return ask(path, init, busy, tries - 1);
    }
    const body = await answer.json().catch(() => null);
    const isGood = answer.ok && body?.success === true;
    return { body, status: answer.status, fault: isGood ? null : faultIn(answer.status, body) };
  } catch {
    return { body: null, status: 0, fault: faultIn(0, null) };
  }
}
