import type { SafeFetch, SafeFetchDeps } from '../lib/safe-fetch.ts';

/** A start should not wait for the HTTP client, which the first refresh or webhook needs. */
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
