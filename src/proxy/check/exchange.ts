import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { bracketed, unbracketed } from '../../lib/address.ts';
import { basicOf, type Login } from '../login.ts';
import type { Dialled } from '../proxy.ts';
import type { Conversation, Secured, Spoken } from './connection.ts';
import { CheckFault } from './fault.ts';
import { type FileRange, headReader, rangeReader } from './http.ts';
import type { Reader } from './inbox.ts';
import { TOKEN_PARAMETER } from './judge.ts';
import { connectSocks4, connectSocks5, greetSocks5, type TunnelTarget } from './socks.ts';

/** A judge or a witness as the target of requests. */
export interface Target extends TunnelTarget {
  scheme: 'http' | 'https';
  /** `host` or `host:port`, as in the URL. */
  authority: string;
  path: string;
}

interface Request<T> {
  target: Target;
  path: string;
  /** More header lines, each with its line end. */
  extra?: string;
  hear: Reader<T>;
  /** Called only for TLS, because creating a context takes 10 ms. */
  secureContext: () => SecureContext;
}

/** The headers of the most common client of such pages, so that a proxy cannot recognise a check by them. */
const HEADERS = { 'User-Agent': 'curl/8.14.1', Accept: '*/*' };

const HEADER_LINES = Object.entries(HEADERS)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');

const SENT = Object.fromEntries(Object.entries(HEADERS).map(([name, value]) => [name.toLowerCase(), value]));

/**
 * Parses a URL. The address is filled in when its name is resolved.
 * @throws {TypeError} if the text is not a URL.
 */
export function targetOf(text: string): Target {
  const url = new URL(text);
  const scheme = url.protocol === 'https:' ? 'https' : 'http';
  return {
    scheme,
    host: unbracketed(url.hostname),
    address: null,
    port: Number(url.port) || (scheme === 'https' ? 443 : 80),
    authority: url.host,
    path: `${url.pathname}${url.search}`,
  };
}

/** Returns the path to ask for. The token is needed only without TLS: over TLS no older answer can be replayed. */
export function pathWith({ scheme, path }: Target, token: string): string {
  return scheme === 'https' ? path : `${path}${path.includes('?') ? '&' : '?'}${TOKEN_PARAMETER}=${token}`;
}

/** Returns the headers that the judge should receive, with names in lower case. */
export function sentHeaders({ authority }: Target): Record<string, string> {
  return { ...SENT, host: authority };
}

/** Returns a request for the bytes `from` to `to` of the target's file. */
export function rangeRequest(
  target: Target,
  { from, to, maxBytes }: { from: number; to: number; maxBytes: number },
  secureContext: () => SecureContext,
): Request<FileRange> {
  const extra = `Range: bytes=${from}-${to}\r\n`;
  return { target, path: target.path, extra, hear: rangeReader(from, maxBytes), secureContext };
}

/** Asks the target over a direct connection. */
export function askDirectly<T>(request: Request<T>): Conversation<T> {
  return [...securedFor(request), ask('', request)];
}

/** Asks the target over a connection to a proxy. */
export function askThrough<T>(proxy: Dialled, request: Request<T>): Conversation<T> {
  if (!proxy.tls) return askProxy(proxy, request);
  return [{ secure: proxy.tls, context: request.secureContext }, ...askProxy(proxy, request)];
}

function askProxy<T>({ protocol, login = null }: Dialled, request: Request<T>): Conversation<T> {
  const { target } = request;
  switch (protocol) {
    case 'http':
      return [ask(`http://${target.authority}`, request, loginLine(login))];
    case 'https':
      return [connectHttp(target, login), ...securedFor(request), ask('', request)];
    case 'socks4':
      return [connectSocks4(target, login), ...securedFor(request), ask('', request)];
    case 'socks5':
      return [...greetSocks5(login), connectSocks5(target), ...securedFor(request), ask('', request)];
  }
}

/**
 * Reports whether a failure after this many turns of `askThrough` may be the judge's, because the proxy may
 * be waiting for it.
 */
export function isCommitted({ protocol, login, tls }: Dialled, turnsBegun: number): boolean {
  return turnsBegun > (protocol === 'socks5' ? (login ? 2 : 1) : 0) + (tls ? 1 : 0);
}

/** Returns the header line with the login for an HTTP proxy, empty without a login. */
export function loginLine(login: Login | null): string {
  return login === null ? '' : `Proxy-Authorization: ${basicOf(login)}\r\n`;
}

function securedFor({ target, secureContext }: Request<unknown>): Secured[] {
  return target.scheme === 'https' ? [{ secure: target.host, context: secureContext }] : [];
}

function ask<T>(origin: string, { target, path, extra = '', hear }: Request<T>, login = ''): Spoken<T> {
  return {
    say: `GET ${origin}${path} HTTP/1.1\r\nHost: ${target.authority}\r\n${HEADER_LINES}${login}${extra}Connection: close\r\n\r\n`,
    hear,
  };
}

/** Opens a tunnel with CONNECT (RFC 9110, 9.3.6). */
export function connectHttp({ host, port }: TunnelTarget, login: Login | null = null): Spoken<true> {
  const place = `${bracketed(host)}:${port}`;
  const readHead = headReader();
  return {
    say: `CONNECT ${place} HTTP/1.1\r\nHost: ${place}\r\n${loginLine(login)}User-Agent: ${HEADERS['User-Agent']}\r\n\r\n`,
    hear(inbox) {
      const head = readHead(inbox);
      if (head === undefined) return undefined;
      if (head.status === 407) throw new CheckFault('auth_required', 'wants credentials');
      if (head.status > 299) throw new CheckFault('bad_answer', 'declined');
      return true;
    },
  };
}

/**
 * Returns a context that trusts the built-in authorities and those in the PEM `ca`. It is created by the first check
 * that needs it, so that the start does not wait for it; at once if that could fail.
 */
export function lazySecureContext(ca: string | undefined): () => SecureContext {
  let context = ca === undefined ? undefined : createSecureContext({ ca: [...rootCertificates, ca] });
  return () => {
    context ??= createSecureContext();
    return context;
  };
}
