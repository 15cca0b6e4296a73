import type { Verdict } from './attempt.ts';
import { badRequest } from './fault.ts';
import { endToEnd, type Framing, framingOf, type Head, listOf, readHead } from './http-message.ts';

/** The head of an answer. */
export interface Answer {
  status: number;
  head: Head;
  framing: Framing;
  /** Whether the connection can carry another request afterwards. */
  keepAlive: boolean;
}

/**
 * Parses the head of the final answer at the start of the bytes, skipping interim ones. Returns `undefined` while it
 * is incomplete.
 * @throws {GatewayFault} `bad_request` if it is not one.
 */
export function readAnswer(bytes: Buffer, method: string): (Answer & { bytes: number }) | undefined {
  let start = 0;
  for (let interim = 0; interim < 4; interim++) {
    const head = readHead(bytes.subarray(start));
    if (head === undefined) return undefined;
    const status = Number(/^HTTP\/1\.[01] ([1-5]\d\d)(?: |$)/.exec(head.line)?.[1]);
    // A protocol switch was not requested.
    if (!(status >= 100) || status === 101) throw badRequest('This is not an HTTP/1.1 response.');
    start += head.bytes;
    if (status >= 200) {
      const bodiless = method === 'HEAD' || status === 204 || status === 304;
      const framing = bodiless ? 'none' : framingOf(head, 'until close');
      return { status, head, framing, keepAlive: keepsAlive(head, status, framing), bytes: start };
    }
  }
  throw badRequest('There are too many interim responses.');
}

/**
 * A server that asks for a login may keep it for the whole connection, which then must not become another client's.
 */
function keepsAlive(head: Head, status: number, framing: Framing): boolean {
  if (framing === 'until close' || status === 401 || !head.line.startsWith('HTTP/1.1')) return false;
  return !(
    listOf(head, 'connection').includes('close') || listOf(head, 'proxy-connection').includes('close')
  );
}

/** Returns the head as the client gets it. */
export function answerHead({ head }: Answer, added: readonly string[]): Buffer {
  const line = head.line.replace(/^HTTP\/1\.0/, 'HTTP/1.1');
  const fields = endToEnd(head).map(([name, value]) => `${name}: ${value}`);
  return Buffer.from(`${[line, ...fields, ...added].join('\r\n')}\r\n\r\n`, 'latin1');
}

/** Statuses that a proxy sends if it could not reach the target. The target itself may send them as well. */
const PROXY_TROUBLE = new Set([500, 502, 503, 504]);

/** Judges the beginning of an answer; `certain`: the upstream is known to deliver the target's answers. */
export function judgeAnswer(received: Buffer, method: string, certain: boolean): Verdict {
  let answer: Answer | undefined;
  try {
    answer = readAnswer(received, method);
  } catch {
    return { failure: 'protocol_error' };
  }
  if (answer === undefined) return 'more';
  const { status, head } = answer;
  if (status === 407) return { failure: 'auth_required' };
  if (status === 511) return { failure: 'page' };
  if (PROXY_TROUBLE.has(status)) return { doubt: `${status}` };
  if (certain) return 'good';
  const look = ['content-type', 'server', 'location', 'etag'].map((name) => listOf(head, name).join());
  return { doubt: `${status} ${look.join(' ')}` };
}
