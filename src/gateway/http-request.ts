import { type Framing, framingOf, type Head, listOf } from '../lib/http-message.ts';
import { loginLine } from '../proxy/check/exchange.ts';
import type { Login, LoginParts } from '../proxy/login.ts';
import { badRequest, GatewayFault } from './fault.ts';
import { formatTarget, readAuthority, readTarget, type Target } from './target.ts';

const REQUEST_LINE = /^([A-Z][A-Z-]{0,30}) ([^ \t]+) HTTP\/1\.([01])$/;

/**
 * Parses what the head of a request to a proxy asks for: a tunnel if it has no `request`.
 * @throws {GatewayFault} `bad_request`
 */
export function readRequest(head: Head) {
  const [, method, uri, minor] = REQUEST_LINE.exec(head.line) ?? [];
  if (method === undefined || uri === undefined)
    throw badRequest('The first line is not an HTTP/1.1 request line.');
  const login = loginIn(head);
  if (method === 'CONNECT') {
    const target = readAuthority(asUtf8(uri));
    if (target === null) throw badRequest('CONNECT needs a host and a port, such as example.com:443.');
    return { target, login, request: null };
  }
  const scheme = /^([a-z]+):\/\//i.exec(uri)?.[1]?.toLowerCase();
  if (scheme !== 'http')
    throw badRequest(
      scheme === undefined
        ? 'This is a proxy: it accepts CONNECT and URLs that begin with http://. Set it as the proxy of your client.'
        : `What begins with ${scheme}:// needs a tunnel, which the client must ask for with CONNECT or SOCKS.`,
    );
  const request = plainRequest(head, { method, uri, old: minor === '0' });
  return { target: request.target, login, request };
}

/** Returns the request that a head with this method and URL makes; `old`: of HTTP/1.0. */
export function plainRequest(
  head: Head,
  { method, uri, old }: { method: string; uri: string; old: boolean },
) {
  const { target, authority, path } = splitUrl(uri);
  const framing = framingOf(head, 'none');
  // Servers of that version end the body where the head does, and take the rest for a request.
  if (old && framing === 'chunked') throw badRequest('HTTP/1.0 has no chunked bodies.');
  const fields = endToEnd(head, framing).filter(([name]) => !/^(host|expect)$/i.test(name));
  // About the server as a whole (RFC 9112, 3.2.4).
  const isForAll = method === 'OPTIONS' && /^http:\/\/[^/?#]*$/i.test(uri);
  // An answer to HTTP/1.0 is never chunked, because such a client would not understand it.
  const version = old ? 'HTTP/1.0' : 'HTTP/1.1';
  const rest = `Host: ${authority}\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}Connection: ${old ? 'close' : 'keep-alive'}\r\n\r\n`;
  const wishes = [...listOf(head, 'connection'), ...listOf(head, 'proxy-connection')];
  return {
    method,
    target,
    framing,
    /** The head for servers, in origin form. */
    forServer: Buffer.from(`${method} ${isForAll ? '*' : path} ${version}\r\n${rest}`, 'latin1'),
    /** Returns the head for a proxy that forwards it, in absolute form. */
    forProxy: (login: Login | null) =>
      Buffer.from(
        `${method} http://${authority}${isForAll ? '' : path} ${version}\r\n${loginLine(login)}${rest}`,
        'latin1',
      ),
    /** Returns the fields that say which form of an answer the client wants, and nothing of what it asks for. */
    manner: () => fields.filter(([name]) => /^(accept|user-agent)/i.test(name)),
    /** Whether the client's connection can carry another request after the answer. */
    keepAlive: old ? wishes.includes('keep-alive') : !wishes.includes('close'),
    /**
     * Whether it is the last one of its connection to the server: it says so, or names the user, which some servers
     * remember.
     */
    last: old || fields.some(([name]) => name.toLowerCase() === 'authorization'),
    /** Whether the client waits for `100 Continue` before it sends the body. */
    expectsContinue: !old && listOf(head, 'expect').includes('100-continue'),
  };
}

/** A request to forward. */
export type PlainRequest = ReturnType<typeof plainRequest>;

/** Fields that concern a single connection (RFC 9110, 7.6.1), and those that frame the body. */
const HOP_BY_HOP = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-authenticate',
  'te',
  'upgrade',
  'transfer-encoding',
  'content-length',
]);

/**
 * Returns the header fields that may be forwarded. The body is forwarded unchanged, and is framed as it was understood: of what
 * was sent, the next reader could understand something else.
 */
export function endToEnd(head: Head, framing: Framing): [name: string, value: string][] {
  const named = new Set(listOf(head, 'connection'));
  named.delete('host');
  const fields = head.fields.filter(([name]) => {
    const key = name.toLowerCase();
    return !HOP_BY_HOP.has(key) && !named.has(key);
  });
  const [length = ''] = listOf(head, 'content-length');
  if (framing === 'chunked') {
    const encodings = listOf(head, 'transfer-encoding').filter((name) => name !== 'identity');
    fields.push(['Transfer-Encoding', encodings.join(', ')]);
  } else if (framing !== 'until close' && /^\d{1,15}$/.test(length)) {
    // Without a body, it tells the size that another answer would have.
    fields.push(['Content-Length', length]);
  }
  return fields;
}

/** Splits `http://host:port/path`. What a path may not contain is percent-encoded, as browsers do; the rest is unchanged. */
function splitUrl(uri: string): { target: Target; authority: string; path: string } {
  const [, place = '', path = ''] = /^http:\/\/([^/?#]*)([^#]*)/i.exec(uri) ?? [];
  const [, host = '', port = '80'] = /^(\[[0-9a-f:.]+\]|[^:[\]@]+)(?::(\d{0,5}))?$/i.exec(place) ?? [];
  const target = host === '' ? null : readTarget(asUtf8(host), Number(port || '80'));
  if (target === null) throw badRequest('The URL has no valid host.');
  const full = formatTarget(target);
  return {
    target,
    authority: target.port === 80 ? full.slice(0, -':80'.length) : full,
    path: (path.startsWith('/') ? path : `/${path}`).replace(/[^!-~]/g, encoded),
  };
}

function encoded(byte: string): string {
  return `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}

/** Returns what bytes that were read as Latin-1 mean as UTF-8, as some clients write names. */
function asUtf8(text: string): string {
  return Buffer.from(text, 'latin1').toString('utf8');
}

function loginIn(head: Head): LoginParts | null {
  const [, value] = head.fields.find(([name]) => name.toLowerCase() === 'proxy-authorization') ?? [];
  const encoded = /^Basic +([A-Za-z0-9+/]+=*)$/i.exec(value ?? '')?.[1];
  if (encoded === undefined) return null;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0) throw new GatewayFault('login_required', 'The login must be user:password.');
  return { user: text.slice(0, colon), password: text.slice(colon + 1) };
}
