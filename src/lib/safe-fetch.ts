import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { isGloballyRoutable, unbracketed } from './address.ts';
import { readableBytes } from './format.ts';
import { MOST_INTERIM } from './http-message.ts';
import { lookupHost } from './resolve-host.ts';
import { type Deadline, explain, SafeFetchError, startDeadline } from './safe-fetch-errors.ts';

export interface SafeFetchOptions {
  /** Sent to the first host, but not after a redirect to another origin. */
  headers?: Readonly<Record<string, string>>;
  /** Makes it a POST, which follows no redirect: the 3xx is the answer. Default: a GET. */
  body?: string | Uint8Array;
  /** From the call to the last byte of the body, including redirects and name lookups. */
  timeoutMs: number;
  /** Maximum size in bytes of the body, both compressed and decompressed. Bytes up to the limit are delivered. */
  maxBytes: number;
  /**
   * Called with the size of each piece of a compressed body, which need not decompress to anything. If it rejects, the
   * body ends with its error.
   */
  onCompressed?: (bytes: number) => Promise<void>;
  signal?: AbortSignal;
}

/**
 * Requests a URL that someone else may have chosen. Accepts only `http:` and `https:`, and only hosts whose addresses
 * are all globally routable. It dials exactly the addresses that were checked, so a name that changes between check
 * and connection gains nothing. Rejects with `SafeFetchError`, or with the reason of the caller's signal.
 */
export type SafeFetch = (url: string, options: SafeFetchOptions) => Promise<SafeResponse>;

export interface SafeFetchDeps {
  /** Also use private and loopback addresses. For tests only. */
  allowPrivate: boolean;
  /** Decides which addresses may be dialled. Default: globally routable ones. */
  permits?: (address: string) => boolean;
  /** Decides which ports may be dialled, also after redirects. Default: all. */
  permitsPort?: (port: number) => boolean;
  /** Resolves names. Must support returning all addresses, like `dns.lookup`. */
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
    throw new SafeFetchError('forbidden_address', `uses port ${port}, which is not allowed`);
  }

  /** The lookup of the socket itself, so what passes here is what it connects to. */
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
        method: options.body === undefined ? 'GET' : 'POST',
        headers: { 'user-agent': 'picpool', accept: '*/*', ...headers, 'accept-encoding': 'gzip, identity' },
        lookup: checkedLookup,
        // A new connection, because one that is kept alive may have been opened under other rules.
        agent: false,
        signal,
        ...(ca === undefined ? {} : { ca }),
      });
      let interim = 0;
      // They count as neither head nor body, and could go on until the deadline.
      request.on('information', () => {
        if (++interim > MOST_INTERIM)
          request.destroy(new SafeFetchError('broken', 'sent too many interim responses'));
      });
      request.on('response', resolve);
      request.on('error', reject);
      // After an upgrade, runtimes report neither an answer nor an error, not even at the deadline.
      request.on('close', () => reject(new SafeFetchError('broken', 'ended without a response')));
      request.end(options.body);
    });
  }

  return async (target, options) => {
    const { timeoutMs, signal } = options;
    signal?.throwIfAborted();
    const deadline = startDeadline(timeoutMs, signal);
    try {
      let url = parseUrl(target);
      let headers = options.headers ?? {};
      for (let hop = 0; ; hop++) {
        const literal = unbracketed(url.hostname);
        if (isIP(literal)) check(literal);
        checkPort(url);
        const message = await send(url, options, headers, deadline.signal);
        const status = message.statusCode ?? 0;
        const location = message.headers.location;
        if (options.body !== undefined || !location || ![301, 302, 303, 307, 308].includes(status)) {
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

export interface SafeResponse {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** The final URL after redirects. */
  url: string;
  /**
   * The decompressed body. Throws `SafeFetchError` if it is interrupted, too large or too late, and the reason of the
   * caller's signal. Must be iterated or discarded, otherwise it holds its connection until the deadline.
   */
  body: AsyncIterable<Uint8Array>;
  /** Closes the connection without reading further. */
  discard(): void;
}

/**
 * Returns the answer as the caller sees it: decompressed, limited in size, and under the deadline to its last byte.
 */
function answer(
  message: IncomingMessage,
  url: URL,
  options: Pick<SafeFetchOptions, 'maxBytes' | 'onCompressed'>,
  deadline: Deadline,
): SafeResponse {
  const close = () => {
    deadline.clear();
    message.destroy();
  };
  // Without a listener, a connection that breaks while nobody reads would end the process.
  message.on('error', () => {});
  deadline.signal.addEventListener('abort', () => message.destroy(new Error('aborted')), { once: true });
  const headers = Object.fromEntries(
    Object.entries(message.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
  return {
    status: message.statusCode ?? 0,
    headers,
    url: url.href,
    discard: close,
    body: {
      async *[Symbol.asyncIterator]() {
        try {
          yield* capped(inflated(message, options), options.maxBytes);
        } catch (error) {
          throw explain(error, deadline, 'broken', 'broke off');
        } finally {
          close();
        }
      },
    },
  };
}

/**
 * Decompresses gzip. Compressed bytes are counted as well, because gzip can continue forever without producing a
 * byte.
 */
function inflated(
  message: IncomingMessage,
  { maxBytes, onCompressed }: Pick<SafeFetchOptions, 'maxBytes' | 'onCompressed'>,
): Readable {
  const encoding = message.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return message;
  if (encoding !== 'gzip' && encoding !== 'x-gzip') {
    throw new SafeFetchError('broken', `sent an encoding that was not asked for (${encoding.slice(0, 20)})`);
  }
  const gunzip = createGunzip();
  async function* counted(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let received = 0;
    for await (const chunk of chunks) {
      received += chunk.length;
      await onCompressed?.(chunk.length);
      if (received > maxBytes) throw tooLarge(maxBytes);
      yield chunk;
    }
  }
  pipeline(message, counted, gunzip, () => {});
  return gunzip;
}

async function* capped(body: Readable, maxBytes: number): AsyncGenerator<Uint8Array> {
  let received = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    const left = maxBytes - received;
    received += chunk.length;
    if (received > maxBytes) {
      if (left > 0) yield chunk.subarray(0, left);
      throw tooLarge(maxBytes);
    }
    yield chunk;
  }
}

function tooLarge(maxBytes: number): SafeFetchError {
  return new SafeFetchError('too_large', `sent more than ${readableBytes(maxBytes)}`);
}
