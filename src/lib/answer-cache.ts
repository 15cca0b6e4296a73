import { BoundedMap } from './bounded-map.ts';
import { elapsedSince } from './stored-time.ts';

interface AnswerCacheOptions {
  /** How long an answer is used, in ms. */
  lifeMs: number;
  /** Maximum number of answers. Default: 1. */
  most?: number;
  /** Ms since any moment. */
  now: () => number;
}

/** Answers that are used for a while. Concurrent callers share a question, and failures are not cached. */
export function createAnswerCache<T>({ lifeMs, most = 1, now }: AnswerCacheOptions) {
  const answers = new BoundedMap<string, { at: number; answer: Promise<T> }>(most);
  return {
    /** Returns the answer for the key, from `ask` if there is none or it is too old. */
    get(key: string, ask: () => Promise<T>): Promise<T> {
      const known = answers.get(key);
      // A clock that is set back must not extend the life.
      if (known && elapsedSince(known.at, now(), 0) < lifeMs) return known.answer;
      const asked = { at: now(), answer: ask() };
      answers.set(key, asked);
      asked.answer.catch(() => {
        if (answers.get(key) === asked) answers.delete(key);
      });
      return asked.answer;
    },
    set: (key: string, answer: T) => void answers.set(key, { at: now(), answer: Promise.resolve(answer) }),
    delete: (key: string) => void answers.delete(key),
    clear: () => answers.clear(),
  };
}

/** Returns the function with its answer cached for `lifeMs`. */
export function cachedFor<T>(lifeMs: number, now: () => number, ask: () => Promise<T>): () => Promise<T> {
  const cache = createAnswerCache<T>({ lifeMs, now });
  return () => cache.get('', ask);
}
