import type { Verdict } from './attempt.ts';
import { type Answer, readAnswer } from './http-answer.ts';
import { listOf } from './http-message.ts';

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
