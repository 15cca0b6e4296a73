import { createHash } from 'node:crypto';
import { KeptHeaders } from './kept-headers.ts';

/** A cache for answers, in memory. */
export interface AnswerCache {
  /**
   * Returns the cached answer to a GET, or that of `make`. Returns without a promise if possible, because most
   * requests are answered here. A cached answer gets the headers of the request.
   */
  answer<A extends Asked>(asked: A, make: (asked: A) => Promise<Response>): Response | Promise<Response>;
}

/** A request, as a cache sees it. */
export interface Asked {
  readonly request: Request;
  /** The request's URL. Reading it from the request costs time on each access. */
  readonly url: string;
  readonly authorization: string | null;
  /** Writes the values of this request into the headers, and returns them. */
  stamp(kept: KeptHeaders): Headers;
}

interface ResponseCacheOptions {
  /** Changes with the data that the answers depend on. */
  version: () => string | Promise<string>;
  /** Maximum length of all answers together, with their URLs and `ENTRY_LENGTH` for each. */
  maxLength?: number;
}

/** Maximum length of a cached answer in characters. */
export const MAX_ANSWER_LENGTH = 256 * 1024;
/** Clients choose URLs, so the number of answers would bound nothing: 2,000 of the longest take 500 MB. */
const MAX_LENGTH = 32 * 1024 * 1024;
/** What the headers of an answer take, and the place that it has here. */
export const ENTRY_LENGTH = 2048;

interface Entry {
  version: string;
  /** A string, because Bun sends it at half the cost of a byte array. */
  body: string;
  kept: KeptHeaders;
  etag: string;
}

type Make<A> = (asked: A) => Promise<Response>;

/**
 * Caches public text answers by URL while their data stay the same. A storable 200 gets an ETag, and clients that
 * already have it get `304`. Requests that arrive while an answer is being made wait for it: otherwise, after each
 * change of the data, all clients would have the same answer made at once.
 */
export function createResponseCache({ version, maxLength = MAX_LENGTH }: ResponseCacheOptions): AnswerCache {
  /** The oldest first. */
  const entries = new Map<string, Entry>();
  let length = 0;
  /** Answers being made, by version and URL; `null` for those that turn out not to be cacheable. */
  const making = new Map<string, Promise<Entry | null>>();

  async function entryOf(response: Response, seen: string): Promise<Entry | null> {
    if (response.status !== 200 || response.headers.get('cache-control')?.includes('no-store')) return null;
    const body = await response.text();
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    response.headers.set('etag', etag);
    return { version: seen, body, kept: new KeptHeaders(response.headers), etag };
  }

  const lengthOf = (url: string, { body }: Entry) => body.length + url.length + ENTRY_LENGTH;

  function forget(url: string): void {
    const entry = entries.get(url);
    if (entry && entries.delete(url)) length -= lengthOf(url, entry);
  }

  function keep(url: string, entry: Entry): void {
    forget(url);
    if (entry.body.length > MAX_ANSWER_LENGTH) return;
    entries.set(url, entry);
    length += lengthOf(url, entry);
    for (const oldest of entries.keys()) {
      if (length <= maxLength) return;
      forget(oldest);
    }
  }

  async function fresh<A extends Asked>(asked: A, current: string, make: Make<A>): Promise<Response> {
    const { url } = asked;
    const key = `${current} ${url}`;
    const underWay = making.get(key);
    const shared = underWay && (await underWay);
    if (shared) return respond(asked, shared);
    const { promise, resolve } = Promise.withResolvers<Entry | null>();
    making.set(key, promise);
    let entry: Entry | null = null;
    try {
      const response = await make(asked);
      entry = await entryOf(response, current);
      if (!entry) return response;
      keep(url, entry);
      return respond(asked, entry);
    } finally {
      making.delete(key);
      resolve(entry);
    }
  }

  function at<A extends Asked>(current: string, asked: A, make: Make<A>): Response | Promise<Response> {
    const kept = entries.get(asked.url);
    return kept?.version === current ? respond(asked, kept) : fresh(asked, current, make);
  }

  return {
    answer(asked, make) {
      // Requests with a token may get more than others.
      if (asked.authorization !== null) return make(asked);
      // Read before the data, so that an older answer is never stored under a newer version.
      const current = version();
      if (typeof current === 'string') return at(current, asked, make);
      return current.then((known) => at(known, asked, make));
    },
  };
}

function respond(asked: Asked, { body, kept, etag }: Entry): Response {
  // A response copies its headers. Writing to those of the entry first halves the cost.
  const headers = asked.stamp(kept);
  const known = asked.request.headers.get('if-none-match');
  const matches = known
    ?.split(',')
    .some((tag) => tag.trim().replace(/^W\//, '') === etag || tag.trim() === '*');
  return matches ? new Response(null, { status: 304, headers }) : new Response(body, { headers });
}
