import { createHash } from 'node:crypto';

export interface ResponseCacheOptions {
  /** Changes with the data that the answers are made of. */
  version: () => string | Promise<string>;
  maxEntries: number;
  /** Longer answers are not kept; in characters. */
  maxAnswerLength: number;
}

/** Text answers of GET requests, kept while the data they were made of stays the same. */
export interface ResponseCache {
  /**
   * The kept answer to the request, with its id among the headers, where that can be told without waiting; else `null`.
   * Most requests get their answer from here: a promise would cost as much as all the rest. `url`: that of the request,
   * of which each look costs.
   */
  matchNow(request: Request, url: string, idOf: (request: Request) => string): Kept | null;
  /**
   * The kept answer to the request, or the one that `make` makes, which is kept where it is a 200 that may be (no
   * `no-store`); `304` where the caller has it already. Requests that come while one is made wait for it: after each
   * change of the data all clients would else have the same answer made at once.
   */
  answer(request: Request, path: string, make: () => Promise<Response>): Promise<Response>;
}

/** A kept answer, and the path at which it is given. */
export interface Kept {
  response: Response;
  path: string;
}

interface Entry {
  version: string;
  path: string;
  /** As a string: Bun sends it at half the cost of an array of bytes. */
  body: string;
  headers: Headers;
  etag: string;
}

export function createResponseCache({
  version,
  maxEntries,
  maxAnswerLength,
}: ResponseCacheOptions): ResponseCache {
  const entries = new Map<string, Entry>();
  /** Answers that are being made, by version and URL; `null` for what turns out not to be kept. */
  const making = new Map<string, Promise<Entry | null>>();

  async function entryOf(response: Response, path: string, seen: string): Promise<Entry | null> {
    if (response.status !== 200 || response.headers.get('cache-control')?.includes('no-store')) return null;
    const body = await response.text();
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    response.headers.set('etag', etag);
    return { version: seen, path, body, headers: response.headers, etag };
  }

  function keep(url: string, entry: Entry): void {
    if (entry.body.length > maxAnswerLength) return;
    entries.delete(url);
    entries.set(url, entry);
    const oldest = entries.keys().next().value;
    if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest);
  }

  return {
    matchNow(request, url, idOf) {
      const entry = entries.get(url);
      if (!entry) return null;
      const current = version();
      if (typeof current !== 'string') {
        current.catch(() => {});
        return null;
      }
      if (entry.version !== current) return null;
      // A response copies its headers.
      entry.headers.set('x-request-id', idOf(request));
      return { response: respond(request, entry), path: entry.path };
    },

    async answer(request, path, make) {
      // Asked for before the data are read, so that no newer version is credited to an older answer.
      const current = await version();
      const kept = entries.get(request.url);
      if (kept?.version === current) return respond(request, kept);
      const key = `${current} ${request.url}`;
      const underWay = making.get(key);
      const shared = underWay && (await underWay);
      if (shared) return respond(request, shared);
      const { promise, resolve } = Promise.withResolvers<Entry | null>();
      making.set(key, promise);
      let entry: Entry | null = null;
      try {
        const response = await make();
        entry = await entryOf(response, path, current);
        if (!entry) return response;
        keep(request.url, entry);
        return respond(request, entry);
      } finally {
        making.delete(key);
        resolve(entry);
      }
    },
  };
}

function respond(request: Request, { body, headers, etag }: Entry): Response {
  const known = request.headers.get('if-none-match');
  if (known === null) return new Response(body, { headers });
  const matches = known
    .split(',')
    .some((tag) => tag.trim().replace(/^W\//, '') === etag || tag.trim() === '*');
  return matches ? new Response(null, { status: 304, headers }) : new Response(body, { headers });
}
