import { expect, mock, test } from 'bun:test';
import { createSqliteProxies } from '../../adapters/sqlite/proxies.ts';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import { createMetrics } from '../../src/lib/metrics.ts';
import type { Checker } from '../../src/proxy/check/checker.ts';
import { observeChecker } from '../../src/proxy/metrics.ts';
import { createExits } from '../../src/proxy/pool/exits.ts';
import { memoryDatabase } from '../support/stores/memory.ts';
import { draft } from '../support/stores/records.ts';

test('exits are those that the pool has ever found alive, and those found later', async () => {
  const database = await memoryDatabase();
  const [store, state] = [createSqliteProxies(database), createSqliteState(database)];
  await store.save([
    draft({ ip: '203.0.113.1', exitIp: '203.0.113.2', proof: 'tls', lastAlive: 1, status: 'dead' }),
    draft({ ip: '203.0.113.3', exitIp: null, lastAlive: null, status: 'dead' }),
  ]);
  const exits = createExits({ store, state, onError: console.error });
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

test('a check that is watched is asked for all that it was asked for, as for a proof afresh', async () => {
  const database = await memoryDatabase();
  const [store, state] = [createSqliteProxies(database), createSqliteState(database)];
  const check = mock(async (..._asked: unknown[]) => ({ verdict: 'dead', error: 'timeout' }));
  const counted = observeChecker({ check } as unknown as Checker, createMetrics());
  const checker = createExits({ store, state, onError: console.error }).watch(counted);
  const all = [{ protocol: 'http', ip: '203.0.113.4', port: 80 }, AbortSignal.abort(), true] as const;
  await checker.check(...all);
  expect(check.mock.calls).toEqual([[...all]]);
});

test('the latest 20,000 exits are known after a restart and by every copy, even without their proxies', async () => {
  const database = await memoryDatabase();
  const [store, state] = [createSqliteProxies(database), createSqliteState(database)];
  const run = () => createExits({ store, state, onError: console.error });
  const find = (exits: ReturnType<typeof run>, exitIp: string) =>
    exits
      .watch({ check: async () => ({ verdict: 'alive', exitIp }) } as unknown as Checker)
      .check({ protocol: 'http', ip: exitIp, port: 80 });
  const [one, other] = [run(), run()];
  for (const copy of [one, other]) copy.start();
  await find(one, '203.0.113.1');
  await find(other, '203.0.113.2');
  await one.stop();
  await other.stop();

  const next = run();
  next.start();
  await next.stop();
  expect(['203.0.113.1', '203.0.113.2', '203.0.113.3'].filter(next.has)).toHaveLength(2);

  for (let n = 0; n < 20_000; n++) await find(next, `10.0.${n >> 8}.${n & 255}`);
  await next.stop();
  const last = run();
  last.start();
  await last.stop();
  expect([last.has('203.0.113.1'), last.has('10.0.0.0'), last.has('10.0.78.31')]).toEqual([
    false,
    true,
    true,
  ]);
});

test('an address that a proxy may have made up is not an exit, so that nobody else loses what it may do', async () => {
  const database = await memoryDatabase();
  const [store, state] = [createSqliteProxies(database), createSqliteState(database)];
  const proofs = ['echoed', 'relayed', 'signed', 'tls'] as const;
  await store.save(
    proofs.map((proof, n) =>
      draft({ ip: `203.0.113.${n}`, exitIp: `198.51.100.${n}`, lastAlive: 1, status: 'alive', proof }),
    ),
  );
  const exits = createExits({ store, state, onError: console.error });
  exits.start();
  await exits.stop();
  for (const [n, proof] of proofs.entries()) {
    const check = async () => ({ verdict: 'alive', exitIp: `198.51.101.${n}`, proof });
    const checker = exits.watch({ check } as unknown as Checker);
    await checker.check({ protocol: 'http', ip: `203.0.114.${n}`, port: 80 });
  }
  for (const kept of ['198.51.100', '198.51.101'])
    expect(proofs.filter((_, n) => exits.has(`${kept}.${n}`))).toEqual(['signed', 'tls']);
  for (const own of ['203.0.113', '203.0.114'])
    expect(proofs.filter((_, n) => exits.has(`${own}.${n}`))).toEqual([...proofs]);
});
