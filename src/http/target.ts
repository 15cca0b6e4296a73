import { remember } from '../lib/bounded-map.ts';

/** What a request is for: host, path and query, in a form that every later step can rely on. */

/**
 * RFC 3986 without user information, escapes and characters that no host name has. IPv6 addresses are in brackets.
 */
const AUTHORITY = /^(?:[a-z\d](?:[\w.-]*[a-z\d_])?\.?|_[\w.-]+|\[[\da-f:.]+\])(?::\d{0,5})?$/i;
/** Clients choose names, so only this many are remembered. */
const MAX_KNOWN = 1000;
const MAX_LENGTH = 300;

/** Reports whether a text names a host, perhaps with a port, as in the header Host. */
export const isAuthority = remember(
  MAX_KNOWN,
  // The pattern checks the characters, the parser their meaning: 256.1.1.1, or port 99999.
  (text) => text.length <= MAX_LENGTH && AUTHORITY.test(text) && URL.canParse(`http://${text}/`),
  MAX_LENGTH,
);

/** Normalises requests to a form that every later step can rely on. */
export function createTargets() {
  /** From the last request, which most others resemble: comparing characters costs less than parsing a URL. */
  let lastHost: string | null = null;
  let lastStart = ' ';

  return {
    /**
     * Returns the request with an absolute URL and a valid host, or `null` if it names none. The runtimes pass on any
     * `Host`, and create URLs from it that cannot be parsed, or whose path partly came from it. A request of HTTP/1.0
     * does not have to name a host.
     */
    withAuthority(request: Request): Request | null {
      const { url } = request;
      const host = request.headers.get('host');
      if (host === lastHost && url.startsWith(lastStart)) return request;
      if (host === null && url.startsWith('/')) return new Request(`http://localhost${url}`, request);
      if (host !== null && !isAuthority(host)) return null;
      const start = url.indexOf('//') + 2;
      const end = url.indexOf('/', start);
      if (!url.startsWith('http') || end <= start || !isAuthority(url.slice(start, end))) return null;
      lastHost = host;
      lastStart = url.slice(0, end + 1);
      return request;
    },
  };
}

/** Returns the path of an absolute URL without parsing the rest, because this runs for every request. */
export function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2);
  const end = url.indexOf('?', start);
  return end === -1 ? url.slice(start) : url.slice(start, end);
}
