import type { SecureContext } from 'node:tls';
import type { CheckError, Dialled } from '../proxy.ts';
import type { Dialler } from './dialler.ts';
import { askThrough, rangeRequest } from './exchange.ts';
import { CheckFault, type FaultCode } from './fault.ts';
import type { Challenge, Witness, Witnesses } from './witnesses.ts';

/** Maximum number of witnesses, on different hosts, that are asked about one proxy. */
const MOST_WITNESSES = 2;

interface RelayProofOptions {
  dialler: Pick<Dialler, 'holdWith'>;
  witnesses: Witnesses;
  secureContext: () => SecureContext;
  monotonic: () => number;
}

/** `relayed`, the error of the proxy, or `echoed` if no witness is available. */
type RelayProof = 'relayed' | 'echoed' | CheckError;

/**
 * Finds out whether a proxy delivers a part of a witness's file. Rejects with a `CheckFault` if that cannot
 * be decided and the fault is ours or the witnesses'.
 */
export function createRelayProof(
  options: RelayProofOptions,
): (endpoint: Dialled, signal?: AbortSignal) => Promise<RelayProof> {
  const { dialler, witnesses, secureContext, monotonic } = options;

  async function fetchThrough(
    endpoint: Dialled,
    { witness, from, to, bytes }: Challenge,
    signal: AbortSignal | undefined,
  ): Promise<'relayed' | FaultCode> {
    const range = { from, to, maxBytes: bytes.length };
    const request = rangeRequest(witness.remote.target, range, secureContext);
    const held = await dialler.holdWith(endpoint, askThrough(endpoint, request), signal);
    if ('failed' in held) return held.failed;
    return held.said.bytes.equals(bytes) ? 'relayed' : 'bad_answer';
  }

  return async (endpoint, signal) => {
    let refused: Witness | undefined;
    let error: CheckError | undefined;
    let avoid: string | undefined;
    for (let n = 0; n < MOST_WITNESSES; n++) {
      const challenge = await witnesses.challenge(avoid);
      if (challenge === null) {
        if (n > 0) break;
        return 'echoed';
      }
      const { witness } = challenge;
      const startedAt = monotonic();
      const outcome = await fetchThrough(endpoint, challenge, signal);
      if (outcome === 'relayed') {
        witness.remote.accepted(startedAt);
        refused?.remote.standing.overruled();
        return 'relayed';
      }
      if (outcome === 'aborted' || outcome === 'exhausted')
        throw new CheckFault(outcome, 'nothing can be said');
      avoid = witness.host;
      if (!(await witnesses.confirm(witness, startedAt))) continue;
      refused = witness;
      error = outcome;
    }
    if (error === undefined) throw new CheckFault('aborted', 'the witnesses have failed');
    return error;
  };
}
