import { createDialler } from '../check/dialler.ts';
import { askThrough, lazySecureContext, targetOf } from '../check/exchange.ts';
import { headReader } from '../check/http.ts';
import type { Dialled } from '../proxy.ts';

/** Requests a URL through a proxy. Resolves with the status, or with `null` if there was no answer. Never rejects. */
export type AskThrough = (proxy: Dialled, url: string, signal?: AbortSignal) => Promise<number | null>;

interface AskerOptions {
  timeoutMs: number;
  /** PEM of certificate authorities to trust in addition to the built-in ones. */
  ca: string | undefined;
  monotonic: () => number;
}

export interface Asker {
  ask: AskThrough;
  /** Ends all requests. */
  close(): void;
}

/** Creates an asker that uses one connection for each request, follows no redirects, and reads no body. */
export function createAsker({ timeoutMs, ca, monotonic }: AskerOptions): Asker {
  const dialler = createDialler({ timeoutMs, monotonic });
  const secureContext = lazySecureContext(ca);
  return {
    async ask(proxy, url, signal) {
      const target = targetOf(url);
      const request = { target, path: target.path, hear: headReader(), secureContext };
      const held = await dialler.holdWith(proxy, askThrough(proxy, request), signal);
      return 'said' in held ? held.said.status : null;
    },
    close: dialler.close,
  };
}
