import { randomUUID } from 'node:crypto';
import { loginLine } from '../proxy/check/exchange.ts';
import type { Plan } from './attempt.ts';
import { answerJudge } from './http-answer.ts';
import { type PlainRequest, plainRequest } from './http-request.ts';
import type { Target } from './target.ts';
import type { Upstream } from './upstream.ts';

/** A request for a host that does not exist. What answers even that as it answers others sends pages of its own. */
export interface Canary {
  target: Target;
  plan: Plan;
}

/** Returns a request that shows whether an upstream answers everything itself. `tunnel`: within a tunnel. */
export function canaryFor(upstream: Upstream, tunnel: boolean): Canary {
  // A name that is never resolved (RFC 6761), and a new one each time.
  const uri = `http://${randomUUID()}.invalid/`;
  const request = plainRequest({ line: '', fields: [], bytes: 0 }, { method: 'GET', uri, old: false });
  const payload = tunnel ? request.forServer : headForProxy(request, upstream);
  return { target: request.target, plan: { tunnel, payload, judge: answerJudge('GET', false) } };
}

/** Returns the head of a request as an HTTP proxy gets it, with the credentials that it asks for. */
export function headForProxy({ forProxy }: PlainRequest, { login }: Upstream): Buffer {
  if (login === null) return forProxy;
  const second = forProxy.indexOf('\r\n') + 2;
  return Buffer.concat([
    forProxy.subarray(0, second),
    Buffer.from(loginLine(login), 'latin1'),
    forProxy.subarray(second),
  ]);
}
