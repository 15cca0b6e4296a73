import type { SecureContext } from 'node:tls';
import type { Dialler } from './dialler.ts';
import { askDirectly, rangeRequest, type Target } from './exchange.ts';
import { answerReader, type FileRange, type HttpAnswer } from './http.ts';
import { BLOCK_BYTES } from './witnesses.ts';

interface DirectOptions {
  dialler: Pick<Dialler, 'hold'>;
  secureContext: () => SecureContext;
  /** Maximum size in bytes of an answer to `ask`. */
  maxBytes: number;
}

/**
 * Asks judges and witnesses without a proxy. Both methods reject if there is no answer, or one to another question.
 */
interface Direct {
  ask(target: Target, path: string): Promise<HttpAnswer>;
  /** Returns the bytes `from` to `to` of the target's file. */
  fetchPart(target: Target, from: number, to: number): Promise<FileRange>;
}

export function createDirect({ dialler, secureContext, maxBytes }: DirectOptions): Direct {
  return {
    ask(target, path) {
      const request = { target, path, hear: answerReader(maxBytes), secureContext };
      return dialler.hold(target.address ?? '', target.port, askDirectly(request));
    },
    fetchPart(target, from, to) {
      const request = rangeRequest(target, { from, to, maxBytes: BLOCK_BYTES }, secureContext);
      return dialler.hold(target.address ?? '', target.port, askDirectly(request));
    },
  };
}
