import {
  canonicalAddress,
  isGloballyRoutable,
  isGloballyRoutableIpv4,
  isHostName,
} from '../../lib/address.ts';
import { type Login, loginOf } from '../login.ts';
import { isCountryCode } from '../pool/country-code.ts';
import type { Protocol } from '../proxy.ts';
import { protocolNamed } from './source.ts';

/** An address as a list wrote it. `protocol` is the scheme before it, `country` the code after it. */
export interface ListedEndpoint {
  protocol: Protocol | null;
  ip: string;
  port: number;
  country: string | null;
  login: Login | null;
  /** `tls://`: the proxy itself speaks TLS. */
  tls: boolean;
}

/** Which entries of a list are accepted. */
export interface EntryRules {
  /** Accept private and loopback addresses. */
  allowPrivate: boolean;
  /**
   * Accept what people pay for: a login, as in `user:password@ip:port` or `ip:port:user:password`, a host name instead
   * of the address, and `tls://`.
   */
  logins: boolean;
}

const COLON = 58;
const SLASH = 47;
const BRACKET = 91;
const LONGEST_SCHEME = 8;
/** Brackets around the longest spelling of an IPv6 address. */
const LONGEST_IPV6 = 48;
const LONGEST_NAME = 253;

const isDigit = (code: number) => code >= 48 && code <= 57;
const isUpper = (code: number) => code >= 65 && code <= 90;
const isLetter = (code: number) => isUpper(code & ~32) && code < 128;
const isBlank = (code: number) => code === 32 || code === 9 || code === 0xfeff || code === 0xa0;
/** Entries copied from a program or from JSON have quotes around them. */
const isQuote = (code: number) => code === 34 || code === 39;
/** `, ; |` and blanks may follow a port; after a letter, `@`, `-` or `.` it was not a port. */
const isSeparator = (code: number) =>
  code === 44 || code === 59 || code === 124 || isBlank(code) || isQuote(code);

/**
 * Reads `[scheme://]ip:port[tail]` from `text[start, end)` into `into`, or the same with blanks instead of the colon.
 * Returns false if there is none, or if it must not be dialled: a name, an unwanted login, a second port, an octet
 * with leading zeros, an address that is not globally routable.
 *
 * Works on char codes: a list of a million lines takes 0.3 s, and three times that with a regular expression.
 */
export function readEndpoint(
  text: string,
  start: number,
  end: number,
  { allowPrivate, logins }: EntryRules,
  into: ListedEndpoint,
): boolean {
  let i = start;
  while (i < end && (isBlank(text.charCodeAt(i)) || isQuote(text.charCodeAt(i)))) i++;
  into.protocol = null;
  into.country = null;
  into.login = null;
  into.tls = false;

  if (isLetter(text.charCodeAt(i))) {
    let colon = i;
    while (colon < end && colon - i < LONGEST_SCHEME && text.charCodeAt(colon) !== COLON) colon++;
    if (text.charCodeAt(colon + 1) === SLASH && text.charCodeAt(colon + 2) === SLASH) {
      const scheme = text.slice(i, colon).toLowerCase();
      into.tls = logins && scheme === 'tls';
      const protocol = into.tls ? 'http' : protocolNamed(scheme);
      if (!protocol) return false;
      into.protocol = protocol;
      i = colon + 3;
    } else if (!logins) return false;
  }
  if (logins) {
    const read = readLoginBefore(text, i, end);
    if (read?.login === null) return false;
    into.login = read?.login ?? null;
    i = read?.end ?? i;
  }

  let afterAddress =
    text.charCodeAt(i) === BRACKET
      ? readIpv6(text, i, end, allowPrivate, into)
      : readIpv4(text, i, end, allowPrivate, into);
  if (afterAddress < 0 && logins) afterAddress = readName(text, i, end, into);
  if (afterAddress < 0) return false;

  i = afterAddress;
  if (text.charCodeAt(i) === COLON) i++;
  else while (i < end && isBlank(text.charCodeAt(i))) i++;
  if (i === afterAddress || i >= end) return false;
  let port = 0;
  const firstDigit = i;
  for (; i < end && i - firstDigit < 6 && isDigit(text.charCodeAt(i)); i++) {
    port = port * 10 + text.charCodeAt(i) - 48;
  }
  if (port < 1 || port > 65_535 || text.charCodeAt(firstDigit) === 48) return false;
  into.port = port;
  if (i >= end) return true;
  const after = logins && into.login === null ? readLoginAfter(text, i, end) : undefined;
  if (after === undefined) return readTail(text, i, end, into);
  into.login = after.login;
  return after.login !== null && (after.end >= end || readTail(text, after.end, end, into));
}

/** Reads dotted decimal at `i`. Returns where it ends, or -1. */
function readIpv4(text: string, i: number, end: number, allowPrivate: boolean, into: ListedEndpoint): number {
  const start = i;
  let address = 0;
  let first = 0;
  for (let octet = 0; octet < 4; octet++) {
    if (octet > 0 && text.charCodeAt(i++) !== 46) return -1;
    const from = i;
    let value = 0;
    for (; i < end && i - from < 4 && isDigit(text.charCodeAt(i)); i++) {
      value = value * 10 + text.charCodeAt(i) - 48;
    }
    if (i === from || value > 255 || (i - from > 1 && text.charCodeAt(from) === 48)) return -1;
    if (octet === 0) first = value;
    address = address * 256 + value;
  }
  const dialable = allowPrivate ? first > 0 && first < 224 : isGloballyRoutableIpv4(address);
  if (!dialable) return -1;
  into.ip = text.slice(start, i);
  return i;
}

/** Reads `[address]` at `i`. Returns where it ends, or -1. */
function readIpv6(text: string, i: number, end: number, allowPrivate: boolean, into: ListedEndpoint): number {
  const inside = text.slice(i + 1, Math.min(end, i + LONGEST_IPV6));
  const length = inside.indexOf(']');
  const address = length < 0 ? '' : inside.slice(0, length);
  if (!(allowPrivate || isGloballyRoutable(address))) return -1;
  const ip = canonicalAddress(address);
  if (ip === null || ip === '::') return -1;
  into.ip = ip;
  return i + length + 2;
}

/** Reads a host name at `i`, whose last label is not a number. Returns where it ends, or -1. */
function readName(text: string, i: number, end: number, into: ListedEndpoint): number {
  const near = text.slice(i, Math.min(end, i + LONGEST_NAME + 1));
  const length = near.indexOf(':');
  if (length < 0) return -1;
  const name = near.slice(0, length).toLowerCase();
  if (!isHostName(name)) return -1;
  into.ip = name;
  return i + length;
}

/** Reads what follows the port: nothing that changes its meaning, and perhaps a country code. */
function readTail(text: string, i: number, end: number, into: ListedEndpoint): boolean {
  let code = text.charCodeAt(i);
  if (code === SLASH) {
    if (++i >= end) return true;
    code = text.charCodeAt(i);
  }
  if (code === COLON) {
    // `ip:port:Country` is a list with countries; `ip:port:port` and `ip:port:user:password` must not be dialled.
    if (isDigit(text.charCodeAt(i + 1))) return false;
    for (let k = i + 1; k < end; k++) {
      if (text.charCodeAt(k) === COLON || text.charCodeAt(k) === 64) return false;
    }
    i++;
  } else if (!isSeparator(code)) return false;

  while (i < end && isSeparator(text.charCodeAt(i))) i++;
  if (i + 2 <= end && isUpper(text.charCodeAt(i)) && isUpper(text.charCodeAt(i + 1))) {
    const next = i + 2 < end ? text.charCodeAt(i + 2) : 32;
    const alone = !isLetter(next) && !isDigit(next) && (next < 128 || isBlank(next));
    const country = text.slice(i, i + 2);
    if (alone && isCountryCode(country)) into.country = country;
  }
  return true;
}

const AT = 64;
const SPACE = 32;
const TAB = 9;

/** A login, or `null` if it cannot be sent to a proxy, and where the text continues. */
interface ReadLogin {
  login: Login | null;
  end: number;
}

/**
 * Reads `user:password@` at `start`, as in URLs. It ends with the last `@` of the word, and may be
 * percent-encoded. Returns `undefined` if no `@` follows.
 */
function readLoginBefore(text: string, start: number, end: number): ReadLogin | undefined {
  let at = -1;
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code === SPACE || code === TAB) break;
    if (code === AT) at = i;
  }
  if (at < 0) return undefined;
  const [user = '', ...rest] = text.slice(start, at).split(':');
  const login = loginOf({ user: unescaped(user), password: unescaped(rest.join(':')) });
  return { login, end: at + 1 };
}

/** Reads `:user:password` at `start`, which ends with the word. Returns `undefined` if there is no second colon. */
function readLoginAfter(text: string, start: number, end: number): ReadLogin | undefined {
  let stop = start + 1;
  while (stop < end && text.charCodeAt(stop) !== SPACE && text.charCodeAt(stop) !== TAB) stop++;
  const word = text.slice(start + 1, stop);
  const colon = word.indexOf(':');
  if (text.charCodeAt(start) !== COLON || colon < 0) return undefined;
  const login = loginOf({ user: word.slice(0, colon), password: word.slice(colon + 1) });
  return { login, end: stop };
}

/** A percent sign that starts no escape belongs to the password. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
