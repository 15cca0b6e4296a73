import { canonicalAddress } from '../../lib/address.ts';
import { foreignRecord, isRecord } from '../../lib/foreign-json.ts';
import { isProven } from './judge.ts';

/** What a page shows of a request, whatever the page's format. */
export interface Echo {
  /**
   * `json`: an object, as from our judge, httpbin and others; `environment`: "azenv" lines (`REMOTE_ADDR =
   * ...`); `trace`: lines with `ip=...`, as from `/cdn-cgi/trace`; `address`: only the address.
   */
  format: 'json' | 'environment' | 'trace' | 'address';
  /** Canonical address of the client as the page's server saw it. */
  address: string;
  /** Other addresses in the forwarding chain that the server reports. */
  chain: string;
  /** Request headers, names in lower case; `null` if the page shows none. */
  headers: Record<string, string> | null;
  /** True if the answer carries a proof made with one of our secrets. */
  proven: boolean;
  /** The part that is the same in every answer. A forger has to know it, and injected content changes it. */
  frame: string;
}

/** Field names in which pages give the client's address: ours, httpbin's and other common ones. */
const ADDRESS_FIELDS = ['address', 'origin', 'ip', 'remote_addr', 'client_ip', 'ip_addr', 'query'];

/** Maximum length of a page that shows only an address. */
const MAX_ADDRESS_LENGTH = 64;

/**
 * Reads a page that shows the address of its client, and returns `null` for any other page. The page must
 * contain the token, unless that is `null`: over TLS nobody can replay an older page.
 */
export function readEcho(body: string, token: string | null, secrets: readonly string[] = []): Echo | null {
  if (token !== null && !body.includes(token)) return null;
  const echo = /^\s*\{/.test(body)
    ? readJson(body, token, secrets)
    : (readAddressAlone(body) ?? readTrace(body) ?? readEnvironment(body));
  const names = Object.keys(echo?.headers ?? {});
  return names.length <= MOST_NAMES && names.every((name) => NAME.test(name)) ? echo : null;
}

/**
 * Of what a forger writes, names are stored and listed. No server shows others, and none of ours shows longer ones.
 * Behind a balancer that speaks HTTP/2 to it, a judge also shows `:authority` and others.
 */
const NAME = /^:?[!#$%&'*+.^`|~\w-]{1,64}$/;
const MOST_NAMES = 64;

function readJson(body: string, token: string | null, secrets: readonly string[]): Echo | null {
  const answer = foreignRecord(body);
  if (answer === null) return null;
  if (token !== null && typeof answer.token === 'string' && answer.token !== token) return null;
  const headers = readHeaders(answer.headers);
  const field = answer[ADDRESS_FIELDS.find((name) => typeof answer[name] === 'string') ?? ''];
  const place = splitChain(typeof field === 'string' ? field : '');
  if (place === null) return null;
  const proven =
    token !== null &&
    headers !== null &&
    typeof answer.proof === 'string' &&
    answer.token === token &&
    isProven({ token, address: String(answer.address), headers, proof: answer.proof }, secrets);
  const frame = body.slice(0, body.indexOf('"')) + Object.keys(answer).join();
  return { format: 'json', ...place, headers, proven, frame };
}

/**
 * Other services keep the case of names, and those written in Go give each header as a list. Answers of ours
 * need no copy.
 */
function readHeaders(value: unknown): Record<string, string> | null {
  if (!isRecord(value)) return null;
  if (isPlain(value)) return value;
  const headers: Record<string, string> = {};
  for (const [name, content] of Object.entries(value)) {
    headers[name.toLowerCase()] = Array.isArray(content) ? content.join(', ') : String(content);
  }
  return headers;
}

function isPlain(headers: Record<string, unknown>): headers is Record<string, string> {
  for (const name in headers) {
    if (typeof headers[name] !== 'string' || name !== name.toLowerCase()) return false;
  }
  return true;
}

function readAddressAlone(body: string): Echo | null {
  if (body.length > MAX_ADDRESS_LENGTH) return null;
  const address = canonicalAddress(body.trim());
  if (address === null) return null;
  return { format: 'address', address, chain: '', headers: null, proven: false, frame: '' };
}

function readTrace(body: string): Echo | null {
  const lines = body.trim().split('\n');
  let address: string | null = null;
  const names: string[] = [];
  for (const line of lines) {
    const [, name, value = ''] = /^([a-z_]{1,30})=(.*)$/.exec(line) ?? [];
    if (name === undefined) return null;
    if (name === 'ip') address = canonicalAddress(value.trim());
    names.push(name);
  }
  if (address === null) return null;
  return { format: 'trace', address, chain: '', headers: null, proven: false, frame: names.join() };
}

function readEnvironment(body: string): Echo | null {
  const headers: Record<string, string> = {};
  const frame = [tagsOf(body)];
  let remote = '';
  for (const line of body.split('\n')) {
    const text = stripTags(line).trim();
    const [, name, value = ''] = /^([A-Z][A-Z0-9_]*)\s*=(.*)$/.exec(text) ?? [];
    if (name === 'REMOTE_ADDR') remote = value.trim();
    else if (name?.startsWith('HTTP_'))
      headers[name.slice(5).toLowerCase().replaceAll('_', '-')] = value.trim();
    // The client's host name is shown only if it has one.
    else if (name === undefined) frame.push(text.replace(/\d+/g, '#'));
    else if (name !== 'REMOTE_HOST') frame.push(name);
  }
  const place = splitChain(remote);
  return place && { format: 'environment', ...place, headers, proven: false, frame: frame.join('\n') };
}

function stripTags(line: string): string {
  return line.replace(/<[^<>]{0,200}>/g, '');
}

function tagsOf(body: string): string {
  return (body.match(/<\/?(?!br\b)[a-z]+/gi) ?? []).join('').toLowerCase();
}

/**
 * In `203.0.113.9, 198.51.100.7` the service, or the balancer in front of it, saw the last address itself.
 * The proxy merely claimed the ones before.
 */
function splitChain(text: string): Pick<Echo, 'address' | 'chain'> | null {
  const at = text.lastIndexOf(',');
  const address = readAddress(text.slice(at + 1).trim());
  return address === null ? null : { address, chain: at < 0 ? '' : text.slice(0, at) };
}

/** Returns the canonical form of an address, with or without brackets and port, or `null` if it is not one. */
export function readAddress(text: string): string | null {
  const canonical = canonicalAddress(text);
  if (canonical !== null) return canonical;
  const bare = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^(\d[\d.]*):\d{1,5}$/.exec(text)?.[1];
  return bare === undefined ? null : canonicalAddress(bare);
}
