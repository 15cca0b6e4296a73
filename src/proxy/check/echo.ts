import { canonicalAddress } from '../../lib/address.ts';
import { isProven } from './judge.ts';

/** What an echo service says about a request, whatever its format. */
export interface Echo {
  format: 'json' | 'text';
  /** Canonical address of the client as the service saw it. */
  address: string;
  /** Further addresses that the service believes the request came from: the rest of a forwarding chain. */
  chain: string;
  /** Request headers, names in lower case. */
  headers: Record<string, string>;
  /** True when the answer carries a proof made with our secret. */
  proven: boolean;
  /** Sequence of the tags of a text answer: what is injected into a page changes it. Empty for JSON. */
  frame: string;
}

/** Names under which echo services give the client's address: ours, httpbin's, and other usual ones. */
const ADDRESS_FIELDS = ['address', 'origin', 'ip', 'remote_addr', 'client_ip'];

/**
 * Reads the answer of an echo service: our judge's JSON, httpbin-like JSON (`args`, `headers`, `origin`) or
 * "azenv" text (`REMOTE_ADDR = ...`, `HTTP_VIA = ...`). `null` unless it holds the token and a valid address.
 */
export function readEcho(body: string, token: string, secret?: string): Echo | null {
  if (!body.includes(token)) return null;
  return /^\s*\{/.test(body) ? readJson(body, token, secret) : readText(body);
}

function readJson(body: string, token: string, secret: string | undefined): Echo | null {
  const answer = parseRecord(body);
  if (answer === null || (typeof answer.token === 'string' && answer.token !== token)) return null;
  const headers = readHeaders(answer.headers);
  const field = answer[ADDRESS_FIELDS.find((name) => typeof answer[name] === 'string') ?? ''];
  const place = splitChain(typeof field === 'string' ? field : '');
  if (headers === null || place === null) return null;
  const proven =
    secret !== undefined &&
    typeof answer.proof === 'string' &&
    answer.token === token &&
    isProven({ token, address: String(answer.address), headers, proof: answer.proof }, secret);
  return { format: 'json', address: place.address, chain: place.chain, headers, proven, frame: '' };
}

function parseRecord(body: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(body);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Other services write names as they came, and Go's give each header as a list; ours needs no copy. */
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

function readText(body: string): Echo | null {
  const headers: Record<string, string> = {};
  let remote = '';
  for (const line of body.split('\n')) {
    const [, name, value = ''] = /^\s*([A-Z][A-Z0-9_]*)\s*=\s*(.*)$/.exec(stripTags(line)) ?? [];
    if (name === 'REMOTE_ADDR') remote = value.trim();
    else if (name?.startsWith('HTTP_'))
      headers[name.slice(5).toLowerCase().replaceAll('_', '-')] = value.trim();
  }
  const place = splitChain(remote);
  return place && { format: 'text', ...place, headers, proven: false, frame: frameOf(body) };
}

function stripTags(line: string): string {
  return line.replace(/<[^<>]{0,200}>/g, '');
}

function frameOf(body: string): string {
  return (body.match(/<\/?(?!br\b)[a-z]+/gi) ?? []).join('').toLowerCase();
}

/**
 * Of `203.0.113.9, 198.51.100.7` the last one was seen by the service (or the balancer before it) itself; the
 * ones before were merely claimed by the proxy.
 */
function splitChain(text: string): Pick<Echo, 'address' | 'chain'> | null {
  const at = text.lastIndexOf(',');
  const address = readAddress(text.slice(at + 1).trim());
  return address === null ? null : { address, chain: at < 0 ? '' : text.slice(0, at) };
}

/** Canonical form of an address that may carry brackets or a port; `null` where there is none. */
export function readAddress(text: string): string | null {
  const canonical = canonicalAddress(text);
  if (canonical !== null) return canonical;
  const bare = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^(\d[\d.]*):\d{1,5}$/.exec(text)?.[1];
  return bare === undefined ? null : canonicalAddress(bare);
}
