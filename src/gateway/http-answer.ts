import { randomUUID } from 'node:crypto';
import { answerHeadReader, type Framing, framingOf, type Head, listOf } from '../lib/http-message.ts';
import type { Plan, Verdict } from './attempt.ts';
import { endToEnd, type PlainRequest, plainRequest } from './http-request.ts';
import type { Target } from './target.ts';
import type { Failure, Upstream } from './upstream.ts';

/** The head of an answer. */
export interface Answer {
  status: number;
  head: Head;
  framing: Framing;
  /** Whether the connection can carry another request afterwards. */
  keepAlive: boolean;
}

/**
 * Reads the head of the final answer to a request with this method, skipping interim ones. Call it with all bytes of
 * the answer whenever more have arrived; it looks at each only once. Returns `undefined` while the head is incomplete.
 * @throws {MessageFault} if it is not one, or all heads together have over 64 KB.
 */
export type AnswerReader = (bytes: Buffer) => (Answer & { bytes: number }) | undefined;

/** Returns the reader of one answer. */
export function answerReader(method: string): AnswerReader {
  const readHead = answerHeadReader();
  return (received) => {
    const head = readHead(received);
    if (head === undefined) return undefined;
    const { status, bytes } = head;
    const bodiless = method === 'HEAD' || status === 204 || status === 304;
    const framing = bodiless ? 'none' : framingOf(head, 'until close');
    return { status, head, framing, keepAlive: keepsAlive(head, status, framing), bytes };
  };
}

/**
 * A server that asks for a login may keep it for the whole connection, which then must not become another client's.
 */
function keepsAlive(head: Head, status: number, framing: Framing): boolean {
  // Two lengths are how one answer is made to look like two.
  const isAmbiguous = framing === 'chunked' && listOf(head, 'content-length').length > 0;
  if (framing === 'until close' || isAmbiguous || status === 401 || !head.line.startsWith('HTTP/1.1'))
    return false;
  return !(
    listOf(head, 'connection').includes('close') || listOf(head, 'proxy-connection').includes('close')
  );
}

/** What only this gateway says: by the first, clients name exits in reports; by the others, they know it from sites. */
const OWN = /^x-picpool-(error|exit|proxy|session): |^proxy-status: .*picpool/i;

/** Returns the head as the client gets it, without what a site or a proxy says in the gateway's name. */
export function answerHead({ head, framing, status }: Answer, added: readonly string[]): Buffer {
  const line = head.line.replace(/^HTTP\/1\.0/, 'HTTP/1.1');
  const fields = endToEnd(head, framing)
    // It never has a body, and so no length (RFC 9110, 8.6).
    .filter(([name]) => status !== 204 || name !== 'Content-Length')
    .map(([name, value]) => `${name}: ${value}`)
    .filter((field) => !OWN.test(field));
  return Buffer.from(`${[line, ...fields, ...added].join('\r\n')}\r\n\r\n`, 'latin1');
}

/** Statuses with which a site refuses an address. */
export const REFUSALS: ReadonlySet<number> = new Set([403, 429, 451, 503]);

/** Statuses that ask for a login to a network or a proxy, which a target never sends. */
export const NEVER_A_TARGETS: ReadonlyMap<number, Failure> = new Map([
  [407, 'auth_required'],
  [511, 'page'],
]);

/** Statuses that a proxy sends if it could not reach the target. The target itself may send them as well. */
export const PROXY_TROUBLE: ReadonlySet<number> = new Set([500, 502, 503, 504]);

/**
 * Returns the judge of one answer to a request with this method, which is asked like an `AnswerReader`. `certain`: the
 * upstream is known to deliver the target's answers. `retry`: an answer that may concern its exit alone is in doubt.
 */
export function answerJudge(
  method: string,
  certain: boolean,
  retry = false,
  more = false,
): (received: Buffer) => Verdict {
  const read = answerReader(method);
  return (received) => {
    try {
      const answer = read(received);
      return answer === undefined ? 'more' : verdictOn(answer, certain, retry, more);
    } catch {
      return { failure: 'protocol_error' };
    }
  };
}

function verdictOn(answer: Answer, certain: boolean, retry: boolean, more: boolean): Verdict {
  const { status } = answer;
  const failure = NEVER_A_TARGETS.get(status);
  if (failure !== undefined) return { failure };
  const refusal = retry && REFUSALS.has(status) && (certain || !PROXY_TROUBLE.has(status));
  if (PROXY_TROUBLE.has(status) || (refusal && certain))
    return { doubt: { look: `${status}`, mayBeOwn: false, refusal } };
  if (certain) return 'good';
  return { doubt: { look: lookOf(answer, more), mayBeOwn: true, refusal } };
}

/** By the values of these, answers with one page are known. */
const OF_A_PAGE = ['content-type', 'server', 'location', 'etag'];

/**
 * Returns what answers with one page have in common. `more`: the length and the names of the fields as well, in which answers of
 * several proxies may differ.
 */
export function lookOf({ status, head }: Answer, more = false): string {
  if (!more) return `${status} ${OF_A_PAGE.map((name) => listOf(head, name).join()).join(' ')}`;
  const isTelling = (name: string) => name === 'content-length' || OF_A_PAGE.includes(name);
  const look = head.fields.map(([name, value]) =>
    isTelling(name.toLowerCase()) ? `${name} ${value}` : name,
  );
  return `${status} ${look.join('\n')}`;
}

/**
 * Returns a request for a host that does not exist. What answers even that as it answers others sends pages of its own.
 * `tunnel`: within a tunnel. `like`: the request whose answer it is compared with, also in length, which depends on what the
 * client accepts.
 */
export function canaryFor(
  upstream: Upstream,
  tunnel: boolean,
  like?: PlainRequest,
): { target: Target; plan: Plan } {
  // A name that is never resolved (RFC 6761), and a new one each time.
  const uri = `http://${randomUUID()}.invalid/`;
  const method = like?.method === 'HEAD' ? 'HEAD' : 'GET';
  const head = { line: '', fields: like?.manner() ?? [], bytes: 0 };
  const request = plainRequest(head, { method, uri, old: false });
  const payload = tunnel ? request.forServer : request.forProxy(upstream.login);
  return {
    target: request.target,
    plan: { tunnel, payload, judge: answerJudge(method, false, false, like !== undefined) },
  };
}
