import { canonicalAddress } from '../../lib/address.ts';
import { createDialler } from '../check/dialler.ts';
import { askThrough, lazySecureContext, targetOf } from '../check/exchange.ts';
import { openingReader } from '../check/http.ts';
import type { Dialled } from '../proxy.ts';
import { siteOf } from './site.ts';

/** What a site answers if it does not refuse a proxy. */
export interface Expected {
  statuses: readonly number[];
  /** Texts that the first 64 KB of the body have to contain. */
  contains?: readonly string[] | undefined;
  /** Texts that they must not contain. */
  without?: readonly string[] | undefined;
}

interface AskerOptions {
  timeoutMs: number;
  /** PEM of certificate authorities to trust in addition to the built-in ones. */
  ca: string | undefined;
  monotonic: () => number;
}

/** How much of a body is read for a text. */
const READ_BYTES = 64 * 1024;
const PLAIN = 'Accept-Encoding: identity\r\n';

/** Creates an asker that uses one connection for each request, follows no redirects, and reads a body only for texts. */
export function createAsker({ timeoutMs, ca, monotonic }: AskerOptions) {
  const dialler = createDialler({ timeoutMs, monotonic });
  const secureContext = lazySecureContext(ca);

  return {
    /**
     * Requests a URL through a proxy. Resolves with whether the answer is as expected, or with `null` if there was none.
     * Never rejects.
     */
    async ask(proxy: Dialled, url: string, expected: Expected, signal?: AbortSignal) {
      const { statuses, contains = [], without = [] } = expected;
      const named = targetOf(url);
      // SOCKS4 needs no name for a literal address.
      const target = { ...named, address: canonicalAddress(named.host) };
      const reads = contains.length + without.length > 0;
      const [extra, hear] = reads ? [PLAIN, openingReader(READ_BYTES)] : ['', openingReader(0)];
      const request = { target, path: target.path, extra, hear, secureContext };
      const held = await dialler.holdWith(proxy, askThrough(proxy, request), signal);
      if ('failed' in held) return null;
      const { status, body } = held.said;
      if (!statuses.includes(status) || !reads) return statuses.includes(status);
      return (
        body !== '' &&
        contains.every((text) => body.includes(text)) &&
        !without.some((text) => body.includes(text))
      );
    },
    /** Ends all requests. */
    close: dialler.close,
  };
}

export type Asker = ReturnType<typeof createAsker>;

/** A target that the operator has configured. Proxies are tried with it from time to time. */
export interface NamedTarget extends Expected {
  name: string;
  url: string;
}

/** Returns the configured targets by site, in lower case. */
export function sitesByName(named: readonly NamedTarget[]): ReadonlyMap<string, string> {
  return new Map(named.map(({ name, url }) => [name.toLowerCase(), siteOf(new URL(url).hostname)]));
}
