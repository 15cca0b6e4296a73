import { expect, test } from 'bun:test';
import { createSqliteProxies } from '../../adapters/sqlite/proxies.ts';
import { createPoolReading } from '../../src/proxy/pool/reading.ts';
import { SORTS } from '../../src/proxy/proxy.ts';
import { memoryDatabase } from '../support/stores/memory.ts';
import { draft } from '../support/stores/records.ts';

for (const sort of [...SORTS, 'random'] as const) {
  test(`a page of unique exits reads the pool once, and no more than the page again: ${sort}`, async () => {
    const store = createSqliteProxies(await memoryDatabase());
    const exits = Array.from({ length: 4000 }, (_, n) => `9.0.${n >> 8}.${n & 255}`);
    await store.save(
      exits.flatMap((exitIp, n) => [
        draft({ ip: exitIp, port: 1, exitIp, proof: 'tls', uptime: 0.9, responseMs: n + 100 }),
        draft({ ip: exitIp, port: 2, exitIp, proof: 'tls', uptime: 0.5, responseMs: n }),
      ]),
    );
    let records = 0;
    const reading = createPoolReading({
      store: {
        ...store,
        async *stream(...args) {
          for await (const batch of store.stream(...args)) {
            records += batch.length;
            yield batch;
          }
        },
      },
      latencies: async () => [],
      history: { samples: async () => [], hourly: async () => [] },
    });
    const { items, total } = await reading.list({
      filter: {},
      sort,
      offset: 10,
      limit: 20,
      uniqueExit: true,
    });
    expect(items.map(({ port }) => port)).toEqual(Array(20).fill(1));
    expect(new Set(items.map(({ exitIp }) => exitIp)).size).toBe(20);
    if (sort === 'response_time') expect(items[0]?.exitIp).toBe(exits[10] ?? null);
    expect(total).toBe(exits.length);
    expect(records).toBeLessThan(2 * exits.length * 1.2);
  });
}
