import { openDatabase } from '../../adapters/sqlite/database.ts';
import { createSqliteProxies } from '../../adapters/sqlite/proxies.ts';
import { PROTOCOLS } from '../../src/proxy/proxy.ts';
import type { ProxyDraft } from '../../src/proxy/store.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { draft } from '../../test/support/stores/records.ts';

const COUNTRIES = ['DE', 'US', 'FR', 'BR', 'ID', 'CN', 'IN', 'RU', 'VN', 'ZZ'];
const BATCH = 500;

/** The n-th proxy of the benchmark, alive. */
export function nthDraft(index: number, checkedAt = Date.now()): ProxyDraft {
  return draft({
    protocol: PROTOCOLS[index % 4] ?? 'http',
    ip: `${20 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}.7`,
    country: COUNTRIES[index % 10] ?? 'ZZ',
    status: 'alive',
    responseMs: 100 + ((index * 7919) % 5000),
    uptime: ((index * 104_729) % 1000) / 1000,
    lastChecked: checkedAt,
    // Not due while the benchmark runs.
    nextCheck: checkedAt + 3_600_000,
  });
}

/** Makes a database file with `count` proxies. */
export async function fill(path: string, count: number): Promise<void> {
  const database = await openDatabase(bunRuntime.openSqlite, path);
  const proxies = createSqliteProxies(database);
  for (let index = 0; index < count; index += BATCH) {
    await proxies.save(Array.from({ length: Math.min(BATCH, count - index) }, (_, n) => nthDraft(index + n)));
  }
  database.close();
}
