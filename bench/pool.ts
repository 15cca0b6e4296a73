import type { Protocol } from '../src/proxy/proxy.ts';
import type { ProxyDraft } from '../src/proxy/store.ts';
import { draft } from '../test/support/stores/records.ts';

/** Returns drafts of a large pool, a third of them alive, in ten countries. */
export function pool(size: number): ProxyDraft[] {
  const countries = ['US', 'DE', 'CN', 'FR', 'BR', 'ID', 'RU', 'IN', 'JP', 'ZZ'];
  const protocols: Protocol[] = ['http', 'https', 'socks4', 'socks5'];
  return Array.from({ length: size }, (_, index) =>
    draft({
      ip: `${1 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}.1`,
      protocol: protocols[index % 4] ?? 'http',
      country: countries[(index * 7) % 10] ?? 'ZZ',
      status: index % 3 === 0 ? 'alive' : 'dead',
      responseMs: (index * 7919) % 5000,
      uptime: ((index * 104_729) % 1000) / 1000,
    }),
  );
}
