import { inEnglish, invalidParameter } from '../../errors.ts';
import { createAbortable } from '../../lib/abortable.ts';
import { createAnswerCache } from '../../lib/answer-cache.ts';
import { BoundedMap } from '../../lib/bounded-map.ts';
import { sha256 } from '../../lib/secret.ts';
import type { Received } from './upload.ts';

/** Longer than clients go on trying, in ms. */
export const KEPT_MS = 10 * 60_000;
const MOST_KEPT = 1000;
/** What others do not use by chance. */
const KEY = /^[\x21-\x7e]{16,255}$/;

/**
 * Keeps an upload from being stored again if its answer was lost and it is sent again. A client marks such requests with
 * an `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header). Only this copy of the server knows of them.
 * `now`: ms since any moment. `isLeft`: whether anything of what was stored is still there.
 */
export function createRepetitions<T>(now: () => number, isLeft: (stored: T) => Promise<boolean>) {
  const answers = createAnswerCache<T>({ lifeMs: KEPT_MS, most: MOST_KEPT, now });
  const keys = new BoundedMap<string, true>(MOST_KEPT);

  async function storeOnce(upload: string, signal: AbortSignal, store: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    let isFirst = false;
    const answer = answers.get(upload, () => {
      isFirst = true;
      return store();
    });
    if (isFirst) return answer;
    const waiting = createAbortable();
    signal.addEventListener('abort', () => waiting.stop(signal.reason));
    // One that failed, perhaps because its client had left, is tried again, and one that was deleted.
    const again = answer
      .then(isLeft, () => false)
      .then((left) => {
        if (left) return answer;
        // Unless another repetition has already begun to store it.
        if (answers.get(upload, () => answer) === answer) answers.delete(upload);
        return storeOnce(upload, signal, store);
      });
    return waiting.wait(again);
  }

  return {
    /** Reports whether a request with the same key was stored lately, so that this one may only ask for its answer. */
    mayRepeat: ({ headers }: Request): boolean => keys.has(sha256(headers.get('idempotency-key') ?? '')),

    /**
     * Returns what `store` returned for an equal request with the same key in the last 10 minutes, or calls it. `holder`:
     * whose token was sent. The address does not count: that of a phone changes when its connection is lost.
     * @throws {AppError} `invalid_parameter` for a key that is too short.
     */
    async once(request: Request, holder: string, received: Received, store: () => Promise<T>): Promise<T> {
      const { url, headers, signal } = request;
      const key = headers.get('idempotency-key');
      if (key === null) return store();
      if (!KEY.test(key))
        throw invalidParameter('Idempotency-Key', inEnglish('It has 16 to 255 characters without spaces.'));
      keys.set(sha256(key), true);
      const files = received.files.map(({ filename, hash }) => [filename, hash]);
      return storeOnce(sha256(JSON.stringify([key, holder, url, received.fields, files])), signal, store);
    },
  };
}
