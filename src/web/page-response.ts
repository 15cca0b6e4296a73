import { gzipSync } from 'node:zlib';
import { pathOf } from '../http/target.ts';
import { acceptedIn } from '../lib/accepted.ts';
import { PREFERENCES_VARY } from './preferences.ts';
import type { Site } from './site.ts';

/** Nothing from other origins, and no inline scripts or styles. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' blob: data:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export interface PageAnswer {
  status?: number;
  /** Its `Cache-Control`. */
  cache: string;
  headers?: [string, string][];
  /**
   * The request, if a long page may be compressed for it. Leave it out if the page contains a secret, such as a delete
   * link: if the page also repeats parts of its URL, the compressed size reveals the secret step by step (BREACH).
   */
  compressFor?: Request;
}

/** Shorter pages fit into the first packets of a connection anyway. */
const COMPRESSED_FROM_CHARS = 8000;
/** The page of 50 proxies becomes 15 KB in about 1 ms; the highest level saves only 0.5 KB more. */
const GZIP_LEVEL = 4;
const GZIPPED: [string, string][] = [['content-encoding', 'gzip']];

/** Returns an HTML page of that site. */
export function pageResponse(
  { language }: Pick<Site, 'language'>,
  page: string,
  { status = 200, cache, headers = [], compressFor }: PageAnswer,
): Response {
  const isLong = compressFor !== undefined && page.length >= COMPRESSED_FROM_CHARS;
  const isCompressed = isLong && acceptedIn(compressFor.headers.get('accept-encoding')).has('gzip');
  return new Response(isCompressed ? new Uint8Array(gzipSync(page, { level: GZIP_LEVEL })) : page, {
    status,
    headers: [
      ['content-type', 'text/html; charset=utf-8'],
      ['content-language', language],
      ['vary', isLong ? `${PREFERENCES_VARY}, Accept-Encoding` : PREFERENCES_VARY],
      ['cache-control', cache],
      ['content-security-policy', PAGE_POLICY],
      // Not `no-referrer`, with which browsers would hide the origin of our own forms from us.
      ['referrer-policy', 'same-origin'],
      ...(isCompressed ? GZIPPED : []),
      ...headers,
    ],
  });
}

/** Sends a browser that has posted a form to a page. */
export function seeOther(location: string, headers: readonly [string, string][] = []): Response {
  const own: [string, string][] = [
    ['location', location],
    ['cache-control', 'no-store'],
  ];
  return new Response(null, { status: 303, headers: [...own, ...headers] });
}

/** Paths that only programs request. */
const FOR_PROGRAMS = /(^|\/)(api\/|openapi\.json$|livez$|readyz$|metrics$|sharex\.sxcu$|oembed$|assets\/)/;
/** The only such path to which a form of a page posts. */
const UPLOAD = /\/api\/upload$/;

/** Reports whether a browser asks for a page: programs and scripts that want JSON do not accept HTML. */
export function acceptsHtml(request: Request): boolean {
  return request.headers.get('accept')?.toLowerCase().includes('text/html') ?? false;
}

/** Reports whether a person will see the answer, so that an error should also be a page. */
export function isForPerson(request: Request): boolean {
  if (!acceptsHtml(request)) return false;
  const pathname = pathOf(request.url);
  return !FOR_PROGRAMS.test(pathname) || (request.method === 'POST' && UPLOAD.test(pathname));
}
