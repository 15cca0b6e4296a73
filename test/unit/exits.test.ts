import { expect, test } from 'bun:test';
import { openDatabase } from '../../adapters/sqlite/database.ts';
import { createSqliteProxies } from '../../adapters/sqlite/proxies.ts';
import type { Checker } from '../../src/proxy/check/checker.ts';
import { createExits } from '../../src/proxy/exits.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { draft } from '../support/records.ts';

test('exits are what the pool has ever found alive, and what is found from now on', async () => {
  const store = createSqliteProxies(await openDatabase(bunRuntime.openSqlite, ':memory:'));
  await store.save([
    draft({ ip: '203.0.113.1', exitIp: '203.0.113.2', lastAlive: 1, status: 'dead' }),
    draft({ ip: '203.0.113.3', exitIp: null, lastAlive: null, status: 'dead' }),
  ]);
  const exits = createExits({ store, onError: console.error });
  exits.start();
  await exits.stop();
  const known = (...addresses: string[]) => addresses.filter(exits.has);
  expect(known('203.0.113.1', '203.0.113.2', '203.0.113.3', '203.0.113.4')).toEqual([
    '203.0.113.1',
    '203.0.113.2',
  ]);

  const checker = exits.watch({
    check: async () => ({ verdict: 'alive', exitIp: '203.0.113.5' }),
  } as unknown as Checker);
  await checker.check({ protocol: 'http', ip: '203.0.113.4', port: 80 });
  expect(known('203.0.113.4', '203.0.113.5')).toHaveLength(2);
});
