/**
 * Why a client did not get what it asked for; the value of the header `X-Picpool-Error`. `no_upstream`: no proxy
 * fits; `no_answer`: no proxy that was tried delivered an answer; `maybe_sent`: one failed after it had received the
 * request, which must not be sent again; `unavailable`: the store with the tokens does not respond, or the gateway hung up.
 */
type Refusal = keyof typeof FORMS;

/** The status, the error of RFC 9209, and the reply of RFC 1928. None of our limits is 429, which a site would send. */
const FORMS = {
  bad_request: [400, 'http_request_error', 1],
  unknown_command: [400, 'http_request_error', 7],
  unknown_address_type: [400, 'http_request_error', 8],
  head_too_large: [431, 'http_request_error', 1],
  login_required: [407, 'http_request_denied', 2],
  target_refused: [403, 'http_request_denied', 2],
  too_many_connections: [503, 'connection_limit_reached', 1],
  no_upstream: [503, 'destination_unavailable', 3],
  no_answer: [502, 'destination_unavailable', 4],
  maybe_sent: [502, 'http_response_incomplete', 1],
  session_lost: [502, 'destination_unavailable', 1],
  unavailable: [503, 'proxy_internal_error', 1],
} as const;

/** Longest reason in a status line. */
const MOST_REASON = 200;

/** Ends the work for a client, who sees its message. */
export class GatewayFault extends Error {
  readonly refusal: Refusal;
  readonly retryAfterMs: number | undefined;

  constructor(refusal: Refusal, sentence: string, retryAfterMs?: number) {
    super(sentence);
    this.name = 'GatewayFault';
    this.refusal = refusal;
    this.retryAfterMs = retryAfterMs;
  }
}

export function badRequest(sentence: string): GatewayFault {
  return new GatewayFault('bad_request', sentence);
}

export function maybeSent(): GatewayFault {
  return new GatewayFault(
    'maybe_sent',
    'The proxy failed after it had received the request. The request is not sent again, because the target may have received it.',
  );
}

export function hungUp(): GatewayFault {
  return new GatewayFault('unavailable', 'The gateway hung up before an answer came.');
}

/** Answers a request for a connection in the client's protocol. */
export interface Voice {
  /** What its refusals count as. */
  kind: 'plain' | 'tunnel';
  yes(headers: readonly string[]): Buffer;
  no(fault: GatewayFault): Buffer;
}

export const HTTP_VOICE: Voice = {
  kind: 'plain',
  yes: (headers) =>
    Buffer.from(
      `HTTP/1.1 200 Connection established\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n`,
    ),
  no: refusalAnswer,
};

/** The answer to HEAD has no body: whatever follows its head would be the next answer. */
const HEAD_VOICE: Voice = {
  ...HTTP_VOICE,
  no: (fault) => {
    const answer = refusalAnswer(fault);
    return answer.subarray(0, answer.indexOf('\r\n\r\n') + 4);
  },
};

const CONNECT_VOICE: Voice = { ...HTTP_VOICE, kind: 'tunnel' };

/** Returns how to answer a request by the first five letters of its method. */
export const voiceFor = (method: string): Voice =>
  method === 'CONNE' ? CONNECT_VOICE : method === 'HEAD' ? HEAD_VOICE : HTTP_VOICE;

export const SOCKS_VOICE: Voice = {
  kind: 'tunnel',
  yes: () => socksReply(0),
  no: ({ refusal }) => socksReply(FORMS[refusal][2]),
};

/** It knows only refusals. */
export const SOCKS4_VOICE: Voice = { ...SOCKS_VOICE, no: () => Buffer.from([0, 91, 0, 0, 0, 0, 0, 0]) };

/**
 * Returns the whole HTTP answer, after which the connection ends. The status line also has the reason: it is all that
 * most clients show of a refused CONNECT.
 */
export function refusalAnswer({ refusal, message, retryAfterMs }: GatewayFault): Buffer {
  const [status, error] = FORMS[refusal];
  const login = refusal === 'login_required' ? 'Proxy-Authenticate: Basic realm="picpool"\r\n' : '';
  const wait = retryAfterMs ? `Retry-After: ${Math.ceil(retryAfterMs / 1000)}\r\n` : '';
  const reason = message.replace(/[^ -~]/g, '?').slice(0, MOST_REASON);
  const body = `${message}\n`;
  return Buffer.from(
    `HTTP/1.1 ${status} ${reason}\r\nX-Picpool-Error: ${refusal}\r\n` +
      `Proxy-Status: picpool; error=${error}; details="${reason.replace(/["\\]/g, '\\$&')}"\r\n` +
      `${login}${wait}Content-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n${body}`,
  );
}

/** Returns a SOCKS5 reply; 0 means success. The address in it has no meaning here. */
function socksReply(code: number): Buffer {
  return Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0]);
}
