import { formatTarget, type Target } from './target.ts';

/**
 * Why a client did not get what it asked for; the value of the header `X-Picpool-Error`. `no_upstream`: no proxy
 * fits; `no_answer`: no proxy that was tried delivered an answer; `maybe_sent`: one failed after it had received the
 * request, which must not be sent again; `unavailable`: the store with the tokens does not respond.
 */
type Refusal =
  | 'bad_request'
  | 'head_too_large'
  | 'login_required'
  | 'target_refused'
  | 'too_many_connections'
  | 'no_upstream'
  | 'no_answer'
  | 'maybe_sent'
  | 'session_lost'
  | 'unavailable';

const STATUS: Record<Refusal, string> = {
  bad_request: '400 Bad Request',
  head_too_large: '431 Request Header Fields Too Large',
  login_required: '407 Proxy Authentication Required',
  target_refused: '403 Forbidden',
  too_many_connections: '429 Too Many Requests',
  no_upstream: '503 Service Unavailable',
  no_answer: '502 Bad Gateway',
  maybe_sent: '502 Bad Gateway',
  session_lost: '502 Bad Gateway',
  unavailable: '503 Service Unavailable',
};

/** Replies of RFC 1928, section 6. */
const SOCKS_REPLY: Record<Refusal, number> = {
  bad_request: 1,
  head_too_large: 1,
  login_required: 2,
  target_refused: 2,
  too_many_connections: 1,
  no_upstream: 3,
  no_answer: 4,
  maybe_sent: 1,
  session_lost: 1,
  unavailable: 1,
};

/** Ends the work for a client, who sees its message. */
export class GatewayFault extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal, sentence: string) {
    super(sentence);
    this.name = 'GatewayFault';
    this.refusal = refusal;
  }
}

export function badRequest(sentence: string): GatewayFault {
  return new GatewayFault('bad_request', sentence);
}

export function headTooLarge(): GatewayFault {
  return new GatewayFault('head_too_large', 'The head is longer than 64 KB, or one of its lines than 16 KB.');
}

export function sessionLost(): GatewayFault {
  return new GatewayFault(
    'session_lost',
    'The exit of this session no longer works, and the session is locked to it.',
  );
}

export function noAnswer(target: Target, tries: number): GatewayFault {
  if (tries === 0) return new GatewayFault('no_upstream', 'No suitable proxy is known to work.');
  return new GatewayFault(
    'no_answer',
    `None of ${tries} proxies returned a response from ${formatTarget(target)}.`,
  );
}

export function maybeSent(): GatewayFault {
  return new GatewayFault(
    'maybe_sent',
    'The proxy failed after it had received the request. The request is not sent again, because the target may have received it.',
  );
}

/** Returns the whole HTTP answer, after which the connection ends. */
export function refusalAnswer({ refusal, message }: GatewayFault): Buffer {
  const login = refusal === 'login_required' ? 'Proxy-Authenticate: Basic realm="picpool"\r\n' : '';
  const body = `${message}\n`;
  return Buffer.from(
    `HTTP/1.1 ${STATUS[refusal]}\r\nX-Picpool-Error: ${refusal}\r\n${login}Content-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n${body}`,
  );
}

/** Returns the SOCKS5 reply for a refusal. */
export function socksRefusal({ refusal }: GatewayFault): Buffer {
  return socksReply(SOCKS_REPLY[refusal]);
}

/** Returns a SOCKS5 reply; 0 means success. The address in it has no meaning here. */
export function socksReply(code: number): Buffer {
  return Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0]);
}
