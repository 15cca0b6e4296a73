import type { Feature } from '../feature.ts';
import { createResponseCache, type Kept, type ResponseCache } from './response-cache.ts';

const LIMITS = { maxEntries: 2000, maxAnswerLength: 256 * 1024 };

/** The kept answers of all services: those of the paths that they name, and the statistics. */
export interface ResponseCaches {
  /** See `ResponseCache.matchNow`; `url` may be any. */
  matchNow(request: Request, url: string, idOf: (request: Request) => string): Kept | null;
  /** Where answers at the path are kept; `undefined`: they are not. */
  at(path: string): ResponseCache | undefined;
}

/** `now` in ms. */
export function createResponseCaches(features: readonly Feature[], now: () => number): ResponseCaches {
  const byPath = new Map<string, ResponseCache>();
  for (const { basePath, cached } of features) {
    if (!cached) continue;
    const cache = createResponseCache({ version: cached.version, ...LIMITS });
    for (const path of cached.paths) byPath.set(basePath + path, cache);
  }
  for (const [basePath, group] of Map.groupBy(features, (feature) => feature.basePath)) {
    const version = () => versionOf(group, now);
    byPath.set(`${basePath}/api/stats`, createResponseCache({ version, ...LIMITS }));
  }
  const all = [...new Set(byPath.values())];

  return {
    matchNow(request, url, idOf) {
      for (const cache of all) {
        const kept = cache.matchNow(request, url, idOf);
        if (kept) return kept;
      }
      return null;
    },
    at: (path) => byPath.get(path),
  };
}

/** Of the services together. What has no version of its own is counted anew every second. */
function versionOf(features: readonly Feature[], now: () => number): string | Promise<string> {
  const versions = features.map(({ cached }) => cached?.version() ?? String(Math.floor(now() / 1000)));
  const [only = ''] = versions;
  if (versions.length === 1) return only;
  const known = versions.filter((each) => typeof each === 'string');
  return known.length === versions.length ? known.join() : Promise.all(versions).then((all) => all.join());
}
