import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { isGloballyRoutable } from './address.ts';
import { lookupHost } from './resolve-host.ts';
import { answer, type SafeResponse } from './safe-fetch-body.ts';
import { explain, SafeFetchError, startDeadline } from './safe-fetch-errors.ts';

export type { SafeResponse } from './safe-fetch-body.ts';

export interface SafeFetchOptions {
  /** `GET` by default. Redirects are followed for `GET` and `HEAD` only; of others the 3xx is the answer. */
  method?: 'GET' | 'HEAD' | 'POST' | 'PUT';
  /** Sent to the first host; when a redirect leaves its origin, they stay behind. */
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
  /** From the call to the last byte of the body, redirects and name look-ups included. */
  timeoutMs: number;
  /** Maximum size in bytes of the body, on the wire and after inflating; what was sent up to there is handed out. */
  maxBytes: number;
  signal?: AbortSignal;
}

/**
 * Requests a URL that someone else may have chosen. Only `http:` and `https:`; only hosts of which every address is
 * globally routable. The addresses that were checked are the ones that are dialled, so a name that changes between
 * the check and the connection wins nothing. Rejects with `SafeFetchError`, or with the reason of the caller's signal.
 */
export type SafeFetch = (url: string, options: SafeFetchOptions) => Promise<SafeResponse>;

export interface SafeFetchDeps {
  /** Also use private and loopback addresses. For tests only. */
  allowPrivate: boolean;
  /** Which addresses may be dialled; the globally routable ones by default. */
  permits?: (address: string) => boolean;
  /** Which ports may be dialled, of redirects too; all by default. */
  permitsPort?: (port: number) => boolean;
  /** Resolves names; must be able to answer with all addresses, as `dns.lookup` does. */
  lookup?: LookupFunction;
  /** Certificate authorities (PEM) to trust instead of the runtime's own. */
  ca?: string;
}

const MOST_REDIRECTS = 5;

export function createSafeFetch({
  allowPrivate,
  permits = isGloballyRoutable,
  permitsPort = () => true,
  lookup = lookupHost,
  ca,
}: SafeFetchDeps): SafeFetch {
  function check(address: string): void {
    if (allowPrivate || permits(address)) return;
    throw new SafeFetchError('forbidden_address', 'has an address that is not public');
  }

  function checkPort({ port, protocol }: URL): void {
    if (permitsPort(Number(port || (protocol === 'https:' ? 443 : 80)))) return;
    throw new SafeFetchError('forbidden_address', `lies on port ${port}, which is not for the web`);
  }

  /** The look-up of the socket itself: what passes here is what it connects to. */
  const checkedLookup: LookupFunction = (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      try {
        const all =
          typeof addresses === 'string' ? [{ address: addresses, family: isIP(addresses) }] : addresses;
        const [first] = all;
        if (!first) throw new SafeFetchError('unreachable', 'has no address');
        for (const { address } of all) check(address);
        if (options.all) callback(null, all);
        else callback(null, first.address, first.family);
      } catch (fault) {
        callback(fault as Error, []);
      }
    });
  };

  function send(url: URL, options: SafeFetchOptions, headers: Record<string, string>, signal: AbortSignal) {
    return new Promise<IncomingMessage>((resolve, reject) => {
      const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
        method: options.method ?? 'GET',
        headers: { 'user-agent': 'picpool', accept: '*/*', ...headers, 'accept-encoding': 'gzip, identity' },
        lookup: checkedLookup,
        // A connection of its own: one that is kept alive could have been opened under other rules.
        agent: false,
        signal,
        ...(ca === undefined ? {} : { ca }),
      });
      request.on('response', resolve);
      request.on('error', reject);
      request.end(options.body);
    });
  }

  return async (target, options) => {
    const { timeoutMs, signal } = options;
    signal?.throwIfAborted();
    const deadline = startDeadline(timeoutMs, signal);
    const follows = options.method === undefined || options.method === 'GET' || options.method === 'HEAD';
    try {
      let url = parseUrl(target);
      let headers = options.headers ?? {};
      for (let hop = 0; ; hop++) {
        const literal = url.hostname.replace(/^\[|\]$/g, '');
        if (isIP(literal)) check(literal);
        checkPort(url);
        const message = await send(url, options, headers, deadline.signal);
        const status = message.statusCode ?? 0;
        const location = message.headers.location;
        if (!follows || !location || ![301, 302, 303, 307, 308].includes(status)) {
          return answer(message, url, options, deadline);
        }
        message.destroy();
        if (hop === MOST_REDIRECTS) {
          throw new SafeFetchError('redirects', `redirected more than ${MOST_REDIRECTS} times`);
        }
        const next = parseUrl(location, url);
        next.username = '';
        next.password = '';
        if (next.origin !== url.origin) headers = {};
        url = next;
      }
    } catch (error) {
      deadline.clear();
      throw explain(error, deadline, 'unreachable', 'could not be reached');
    }
  };
}

function parseUrl(text: string, base?: URL): URL {
  const url = URL.canParse(text, base?.href) ? new URL(text, base?.href) : null;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  const what = base ? 'redirected to something' : 'is something';
  throw new SafeFetchError('bad_url', `${what} that is neither an http nor an https URL`);
}
