import { canonicalAddress } from '../../lib/address.ts';
import { withoutPort } from './walk.ts';

/** Headers that reverse proxies add and clients do not. */
const ADDED_BY_PROXIES = [
  'x-forwarded-for',
  'forwarded',
  'x-real-ip',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-forwarded-server',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-original-forwarded-for',
  'x-envoy-external-address',
  'true-client-ip',
  'cf-connecting-ip',
  'fastly-client-ip',
  'fly-client-ip',
  'client-ip',
  'via',
];

/** Returns the first header that shows a reverse proxy, or `null`. */
export function forwardedBy(headers: Headers): string | null {
  return ADDED_BY_PROXIES.find((name) => headers.has(name)) ?? null;
}

/**
 * Returns the clients named by headers other than `X-Forwarded-For`. A reverse proxy that sets one of these may pass
 * the other on as the visitor wrote it, so they should agree. Text that is not an address is returned unchanged.
 */
export function reportedClients(headers: Headers): string[] {
  const realIp = headers.get('x-real-ip');
  const last = headers.get('forwarded')?.split(',').at(-1);
  const node = last === undefined ? undefined : (/(?:^|;)\s*for="?([^";]*)"?/i.exec(last)?.[1] ?? '');
  return [realIp, node].flatMap((text) => {
    if (text === null || text === undefined) return [];
    const plain = withoutPort(text.trim());
    return [canonicalAddress(plain) ?? plain];
  });
}
