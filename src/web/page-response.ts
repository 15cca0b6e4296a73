import { PREFERENCES_VARY } from './preferences.ts';
import type { Site } from './site.ts';

/** Nothing from other origins, and no inline scripts or styles. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export interface PageAnswer {
  status?: number;
  /** Its `Cache-Control`. */
  cache: string;
  headers?: [string, string][];
}

/** Returns an HTML answer with a page of that site, as text or compressed. */
export function pageResponse(
  { language }: Pick<Site, 'language'>,
  page: string | Uint8Array<ArrayBuffer>,
  { status = 200, cache, headers = [] }: PageAnswer,
): Response {
  return new Response(page, {
    status,
    headers: [
      ['content-type', 'text/html; charset=utf-8'],
      ['content-language', language],
      ['vary', PREFERENCES_VARY],
      ['cache-control', cache],
      ['content-security-policy', PAGE_POLICY],
      // Not `no-referrer`, with which browsers would hide the origin of our own forms from us.
      ['referrer-policy', 'same-origin'],
      ...headers,
    ],
  });
}
