import { randomUUID } from 'node:crypto';
import type { Plan } from './attempt.ts';
import { answerJudge } from './http-answer.ts';
import { plainRequest } from './http-request.ts';
import type { Target } from './target.ts';
import type { Upstream } from './upstream.ts';

/**
 * Returns a request for a host that does not exist. What answers even that as it answers others sends pages of its own.
 * `tunnel`: within a tunnel.
 */
export function canaryFor(upstream: Upstream, tunnel: boolean): { target: Target; plan: Plan } {
  // A name that is never resolved (RFC 6761), and a new one each time.
  const uri = `http://${randomUUID()}.invalid/`;
  const request = plainRequest({ line: '', fields: [], bytes: 0 }, { method: 'GET', uri, old: false });
  const payload = tunnel ? request.forServer : request.forProxy(upstream.login);
  return { target: request.target, plan: { tunnel, payload, judge: answerJudge('GET', false) } };
}
