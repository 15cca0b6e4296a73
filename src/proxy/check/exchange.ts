import type { SecureContext } from 'node:tls';
import type { Protocol } from '../proxy.ts';
import type { Connection, Conversation } from './connection.ts';
import { CheckFault } from './fault.ts';
import { type HttpAnswer, readAnswer, readHead } from './http.ts';
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
export function* askDirectly(connection: Connection, options: ExchangeOptions): Conversation<HttpAnswer> {
  const { target, secureContext } = options;
  yield* connection.open();
  if (target.scheme === 'https') yield* connection.secure(target.host, secureContext());
  return yield* ask(connection, '', options);
}

/**
 * Asks the judge over a connection to a proxy. `onCommitted` is called as soon as a failure may be the judge's:
 * from then on the proxy may be waiting for it.
 */
export function* askThrough(
  connection: Connection,
  protocol: Protocol,
  options: ExchangeOptions,
  onCommitted: () => void,
): Conversation<HttpAnswer> {
  const { target, secureContext } = options;
  yield* connection.open();
  if (protocol === 'socks5') yield* greetSocks5(connection);
  onCommitted();
  if (protocol === 'http') return yield* ask(connection, `http://${target.authority}`, options);
  if (protocol === 'https') yield* connectHttp(connection, target);
  else if (protocol === 'socks4') yield* connectSocks4(connection, target);
  else yield* connectSocks5(connection, target);
  if (target.scheme === 'https') yield* connection.secure(target.host, secureContext());
  return yield* ask(connection, '', options);
}

function ask(connection: Connection, origin: string, options: ExchangeOptions): Conversation<HttpAnswer> {
  const { target, token, maxBytes } = options;
  connection.write(
    `GET ${origin}${target.path}${token} HTTP/1.1\r\nHost: ${target.authority}\r\n${HEADER_LINES}${TOKEN_HEADER}: ${token}\r\nConnection: close\r\n\r\n`,
  );
  return readAnswer(connection, maxBytes);
}

/** Opens a tunnel by CONNECT (RFC 9110, 9.3.6). */
function* connectHttp(connection: Connection, target: JudgeTarget): Conversation<void> {
  const host = target.host.includes(':') ? `[${target.host}]` : target.host;
  const place = `${host}:${target.port}`;
  connection.write(
    `CONNECT ${place} HTTP/1.1\r\nHost: ${place}\r\nUser-Agent: ${HEADERS['User-Agent']}\r\n\r\n`,
  );
  const { status } = yield* readHead(connection);
  if (status === 407) throw new CheckFault('auth_required', 'wants credentials');
  if (status > 299) throw new CheckFault('bad_answer', 'declined');
}
