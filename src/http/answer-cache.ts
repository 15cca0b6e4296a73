import { createHash } from 'node:crypto';

export interface AnswerCacheOptions {
  /** Changes with the data that the answers are made of. */
  version: () => Promise<string>;
  maxEntries: number;
  /** Longer answers are not kept; in characters. */
  maxAnswerLength: number;
}

/** Text answers of GET requests, kept while the data they were made of stays the same. */
export interface AnswerCache {
  /** The kept answer to the request, or `304` where the caller has it already; `null` where there is none. */
  match(request: Request): Promise<Response | null>;
  /** Keeps a 200 answer that may be kept (no `no-store`), and returns one to send in its place. */
  keep(request: Request, response: Response): Promise<Response>;
}

interface Entry {
  version: string;
  /** As a string: Bun sends it at half the cost of an array of bytes. */
  body: string;
  headers: Headers;
  etag: string;
}

export function createAnswerCache({ version, maxEntries, maxAnswerLength }: AnswerCacheOptions): AnswerCache {
  const entries = new Map<string, Entry>();
  /** Versions as they were when the request was looked up, so that no newer one is credited to an older answer. */
  const lookups = new WeakMap<Request, string>();

  return {
    async match(request) {
      const current = await version();
      const entry = entries.get(request.url);
      if (entry?.version === current) return answer(request, entry);
      lookups.set(request, current);
      return null;
    },

    async keep(request, response) {
      const seen = lookups.get(request);
      const storable =
        response.status === 200 && !response.headers.get('cache-control')?.includes('no-store');
      if (seen === undefined || !storable) return response;
      const body = await response.text();
      const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
      response.headers.set('etag', etag);
      const entry: Entry = { version: seen, body, headers: response.headers, etag };
      if (body.length <= maxAnswerLength) {
        entries.delete(request.url);
        entries.set(request.url, entry);
        const oldest = entries.keys().next().value;
        if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest);
      }
      return answer(request, entry);
    },
  };
}

function answer(request: Request, { body, headers, etag }: Entry): Response {
  const known = request.headers.get('if-none-match');
  if (known === null) return new Response(body, { headers });
  const matches = known
    .split(',')
    .some((tag) => tag.trim().replace(/^W\//, '') === etag || tag.trim() === '*');
  return matches ? new Response(null, { status: 304, headers }) : new Response(body, { headers });
}
