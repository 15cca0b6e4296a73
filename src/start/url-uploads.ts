import type { Config } from '../config.ts';
import { createRecount } from '../http/limits.ts';
import type { FromUrl } from '../image/upload/fetch-ordered.ts';
import { createUrlFetcher } from '../image/upload/from-url.ts';
import { isGloballyRoutable } from '../lib/address.ts';
import type { RateLimiter } from '../lib/rate-limiter.ts';
import { REFUSED_PORTS } from '../proxy/check/policy.ts';
import { ownAddresses } from './checker.ts';
import { lazySafeFetch } from './lazy-fetch.ts';

interface UrlUploadsOptions {
  config: Pick<Config, 'IMAGE_FROM_URL' | 'IMAGE_MAX_UPLOAD' | 'PROXY_ALLOW_PRIVATE' | 'RATE_LIMITS'>;
  limiter: RateLimiter;
  /** For temporary files. */
  folder: string;
  onRefused: (name: string) => void;
}

/** Opens uploads by URL as `IMAGE_FROM_URL` allows. Never requests anything from this machine or its networks. */
export function openUrlUploads({ config, limiter, folder, onRefused }: UrlUploadsOptions): FromUrl | null {
  if (config.IMAGE_FROM_URL === 'off') return null;
  const maxUploadBytes = config.IMAGE_MAX_UPLOAD;
  const own = new Set(ownAddresses());
  const permits = (address: string) => isGloballyRoutable(address) && !own.has(address);
  const permitsPort = (port: number) => !REFUSED_PORTS.has(port);
  const fetcher = createUrlFetcher({
    fetch: lazySafeFetch(config.PROXY_ALLOW_PRIVATE, { permits, permitsPort }),
    folder,
    maxBytes: maxUploadBytes,
  });
  const rates = config.RATE_LIMITS;
  return {
    ...fetcher,
    needsToken: config.IMAGE_FROM_URL === 'token',
    ...(rates && {
      countBytes: createRecount({ limiter, rates, maxUploadBytes, onRefused }, 'upload_bytes'),
    }),
  };
}
