import type { SecureContext } from 'node:tls';
import type { Protocol } from '../proxy.ts';
import type { Conversation, Secured, Spoken } from './connection.ts';
import { CheckFault } from './fault.ts';
import { answerReader, type HttpAnswer, headReader } from './http.ts';
import { TOKEN_HEADER, TOKEN_PARAMETER } from './judge.ts';
import { connectSocks4, connectSocks5, greetSocks5, type TunnelTarget } from './socks.ts';

/** A judge as the target of requests. */
export interface JudgeTarget extends TunnelTarget {
  scheme: 'http' | 'https';
  /** `host` or `host:port`, as in the URL. */
  authority: string;
  /** Path and query, ready for the token to be appended. */
  path: string;
}

export interface ExchangeOptions {
  target: JudgeTarget;
  token: string;
  /** Called only for TLS: making it takes 10 ms. */
  secureContext: () => SecureContext;
  /** Most bytes of the judge's answer. */
  maxBytes: number;
}

/** Headers of every request, besides `Host` and the token. No cookies, nothing that tells who asks. */
const HEADERS = {
  'User-Agent': 'Mozilla/5.0 (compatible; picpool)',
  Accept: '*/*',
  'Accept-Encoding': 'identity',
  'Cache-Control': 'no-cache',
};

const HEADER_LINES = Object.entries(HEADERS)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');

const SENT = Object.fromEntries(Object.entries(HEADERS).map(([name, value]) => [name.toLowerCase(), value]));

/**
 * Takes the parts of a judge's URL; the address is filled in when its name is resolved.
 * @throws {TypeError} for text that is no URL.
 */
export function judgeTarget(text: string): JudgeTarget {
  const url = new URL(text);
  const scheme = url.protocol === 'https:' ? 'https' : 'http';
  return {
    scheme,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    address: null,
    port: Number(url.port) || (scheme === 'https' ? 443 : 80),
    authority: url.host,
    path: `${url.pathname}${url.search}${url.search === '' ? '?' : '&'}${TOKEN_PARAMETER}=`,
  };
}

/** What the judge ought to receive besides the token: names in lower case. */
export function sentHeaders({ authority }: JudgeTarget): Record<string, string> {
  return { ...SENT, host: authority };
}

/** Asks the judge over a connection to the judge itself. */
export function askDirectly(options: ExchangeOptions): Conversation<HttpAnswer> {
  return [...securedFor(options), ask('', options)];
}

/** Asks the judge over a connection to a proxy. */
export function askThrough(protocol: Protocol, options: ExchangeOptions): Conversation<HttpAnswer> {
  const { target } = options;
  switch (protocol) {
    case 'http':
      return [ask(`http://${target.authority}`, options)];
    case 'https':
      return [connectHttp(target), ...securedFor(options), ask('', options)];
    case 'socks4':
      return [connectSocks4(target), ...securedFor(options), ask('', options)];
    case 'socks5':
      return [greetSocks5, connectSocks5(target), ...securedFor(options), ask('', options)];
  }
}

/** True when a failure after so many turns of `askThrough` may be the judge's, as the proxy may be waiting for it. */
export function isCommitted(protocol: Protocol, turnsBegun: number): boolean {
  return turnsBegun > (protocol === 'socks5' ? 1 : 0);
}

function securedFor({ target, secureContext }: ExchangeOptions): Secured[] {
  return target.scheme === 'https' ? [{ secure: target.host, context: secureContext }] : [];
}

function ask(origin: string, { target, token, maxBytes }: ExchangeOptions): Spoken<HttpAnswer> {
  return {
    say: `GET ${origin}${target.path}${token} HTTP/1.1\r\nHost: ${target.authority}\r\n${HEADER_LINES}${TOKEN_HEADER}: ${token}\r\nConnection: close\r\n\r\n`,
    hear: answerReader(maxBytes),
  };
}

/** Opens a tunnel by CONNECT (RFC 9110, 9.3.6). */
function connectHttp({ host, port }: JudgeTarget): Spoken<true> {
  const place = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const readHead = headReader();
  return {
    say: `CONNECT ${place} HTTP/1.1\r\nHost: ${place}\r\nUser-Agent: ${HEADERS['User-Agent']}\r\n\r\n`,
    hear(inbox) {
      const head = readHead(inbox);
      if (head === undefined) return undefined;
      if (head.status === 407) throw new CheckFault('auth_required', 'wants credentials');
      if (head.status > 299) throw new CheckFault('bad_answer', 'declined');
      return true;
    },
  };
}
