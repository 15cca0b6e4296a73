import { once } from '../lib/once.ts';
import type { SafeFetch, SafeFetchDeps } from '../lib/safe-fetch.ts';

/** Loads the HTTP client on first use, so that the start does not wait for it. */
export function lazySafeFetch(
  allowPrivate: boolean,
  rules: Pick<SafeFetchDeps, 'permits' | 'permitsPort'> = {},
): SafeFetch {
  const made = once(async () =>
    (await import('../lib/safe-fetch.ts')).createSafeFetch({ allowPrivate, ...rules }),
  );
  return async (url, options) => (await made())(url, options);
}
