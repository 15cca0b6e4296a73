import { createHash } from 'node:crypto';
import { BoundedMap } from '../lib/bounded-map.ts';
import { KeptHeaders } from './kept-headers.ts';
import type { AnswerCache, Asked } from './policy.ts';

export interface ResponseCacheOptions {
  /** Changes with the data that the answers are made of. */
  version: () => string | Promise<string>;
  maxEntries?: number;
  /** Longer answers are not kept; in characters. */
  maxAnswerLength?: number;
}

const MAX_ENTRIES = 2000;
const MAX_ANSWER_LENGTH = 256 * 1024;

interface Entry {
  version: string;
  /** As a string: Bun sends it at half the cost of an array of bytes. */
  body: string;
  kept: KeptHeaders;
  etag: string;
}

type Make<A> = (asked: A) => Promise<Response>;

/**
 * Keeps text answers to everyone, by URL, while the data they were made of stay the same: a 200 that may be stored gets an ETag, and `304`
 * goes to who has it already. Requests that come while an answer is made wait for it: after each change of the data all
 * clients would else have the same one made at once.
 */
export function createResponseCache({
  version,
  maxEntries = MAX_ENTRIES,
  maxAnswerLength = MAX_ANSWER_LENGTH,
}: ResponseCacheOptions): AnswerCache {
  const entries = new BoundedMap<string, Entry>(maxEntries);
  /** Answers that are being made, by version and URL; `null` for what turns out not to be kept. */
  const making = new Map<string, Promise<Entry | null>>();

  async function entryOf(response: Response, seen: string): Promise<Entry | null> {
    if (response.status !== 200 || response.headers.get('cache-control')?.includes('no-store')) return null;
    const body = await response.text();
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    response.headers.set('etag', etag);
    return { version: seen, body, kept: new KeptHeaders(response.headers), etag };
  }

  function keep(url: string, entry: Entry): void {
    if (entry.body.length <= maxAnswerLength) entries.set(url, entry);
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
      // Asked for before the data are read, so that no newer version is credited to an older answer.
      const current = version();
      if (typeof current === 'string') return at(current, asked, make);
      return current.then((known) => at(known, asked, make));
    },
  };
}

function respond(asked: Asked, { body, kept, etag }: Entry): Response {
  // A response copies its headers: written to those of the entry first, they cost half.
  const headers = asked.stamp(kept);
  const known = asked.request.headers.get('if-none-match');
  if (known === null) return new Response(body, { headers });
  const matches = known
    .split(',')
    .some((tag) => tag.trim().replace(/^W\//, '') === etag || tag.trim() === '*');
  return matches ? new Response(null, { status: 304, headers }) : new Response(body, { headers });
}
