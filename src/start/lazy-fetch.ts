import type { SafeFetch, SafeFetchDeps } from '../lib/safe-fetch.ts';

/** Loads the HTTP client on first use, so that the start does not wait for it. */
export function lazySafeFetch(
  allowPrivate: boolean,
  rules: Pick<SafeFetchDeps, 'permits' | 'permitsPort'> = {},
): SafeFetch {
  let made: Promise<SafeFetch> | undefined;
  return async (url, options) => {
    made ??= import('../lib/safe-fetch.ts').then((module) =>
      module.createSafeFetch({ allowPrivate, ...rules }),
    );
    return (await made)(url, options);
  };
}
