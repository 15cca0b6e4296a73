import assert from 'node:assert/strict';
import type { ProxyRecord } from '../../src/proxy/proxy.ts';
import type { ProxyDraft, ProxyStore } from '../../src/proxy/store.ts';
import { type Open, storeTest, type Test } from '../support/runner.ts';
import { draft, drafts } from '../support/stores/records.ts';
import { proxyQueryConformance } from './proxy-query.ts';

const ALL = { filter: {}, sort: 'dependable', offset: 0, limit: 10_000 } as const;

/** Every promise of `ProxyStore`. */
export function proxyStoreConformance(runner: Test, open: Open<ProxyStore>): void {
  proxyRecordsConformance(runner, open);
  proxyQueryConformance(runner, open);
}

/** The promises about what is saved, kept and removed. */
export function proxyRecordsConformance(runner: Test, open: Open<ProxyStore>): void {
  const test = storeTest(runner, open);

  async function saved(store: ProxyStore, ...some: ProxyDraft[]): Promise<ProxyRecord[]> {
    return store.save(some);
  }

  async function total(store: ProxyStore): Promise<number> {
    return (await store.find({ ...ALL, limit: 1 })).total;
  }

  const ports = (records: readonly ProxyRecord[]) => records.map(({ port }) => port);

  test('a proxy that was never saved is null', async (store) => {
    for (const id of [1, 0, -1, 2 ** 31, 2 ** 52]) assert.equal(await store.get(id), null);
    assert.deepEqual(await store.lookup([draft()]), []);
  });

  test('a record reads back as it was saved, with a positive ID', async (store) => {
    const full = draft({ responseMs: 123.456, uptime: 1 / 3, uptimeWeight: 0.1 + 0.2 });
    const empty = draft({
      ip: '2001:db8::1',
      protocol: 'socks5',
      port: 65535,
      country: 'ZZ',
      source: `odd "name" 'x' %_ 猫`,
      status: 'dead',
      responseMs: null,
      anonymity: null,
      exitIp: null,
      error: 'timeout',
      lastAlive: null,
      checks: 0,
      successes: 0,
      run: -4,
      uptime: 0,
      uptimeWeight: 1,
    });
    for (const record of await saved(store, full, empty)) {
      assert.ok(Number.isInteger(record.id) && record.id > 0);
      assert.deepEqual(await store.get(record.id), record);
      const { id: _, ...rest } = record;
      assert.deepEqual(rest, record.port === 65535 ? empty : full);
    }
  });

  test('saving returns the records in the order of the drafts', async (store) => {
    const order = [5, 1, 4, 2, 3];
    const records = await store.save(order.map((port) => draft({ port })));
    assert.deepEqual(ports(records), order);
    const again = await store.save([...order].reverse().map((port) => draft({ port })));
    assert.deepEqual(
      again.map(({ id }) => id),
      records.map(({ id }) => id).reverse(),
    );
  });

  test('saving nothing changes nothing', async (store) => {
    assert.deepEqual(await store.save([]), []);
    assert.equal(await total(store), 0);
  });

  test('saving a known endpoint replaces every field and keeps its ID', async (store) => {
    const [first] = await saved(store, draft());
    const changes: Partial<ProxyDraft>[] = [
      {
        lastChecked: draft().lastChecked + 1,
        nextCheck: 2,
        checks: 9,
        successes: 8,
        run: -1,
        runSince: 7,
        error: 'timeout',
      },
      { country: 'FR' },
      { source: 'list-two' },
      { status: 'dead' },
      { responseMs: null },
      { anonymity: null, exitIp: null },
      { firstSeen: 5 },
      { lastAlive: null },
      { uptime: 0.75, uptimeWeight: 0.5 },
    ];
    let current = draft();
    for (const change of changes) {
      current = { ...current, ...change };
      const [record] = await saved(store, current);
      assert.deepEqual(record, { ...current, id: first?.id });
      assert.deepEqual(await store.get(first?.id ?? 0), record);
    }
    assert.equal(await total(store), 1);
  });

  test('protocol, address and port identify an endpoint', async (store) => {
    const records = await saved(
      store,
      draft(),
      draft({ protocol: 'https' }),
      draft({ ip: '192.0.2.2' }),
      draft({ port: 8081 }),
    );
    assert.equal(new Set(records.map(({ id }) => id)).size, 4);
    assert.equal(await total(store), 4);
  });

  test('the later of two drafts of an endpoint wins', async (store) => {
    const records = await saved(
      store,
      draft({ country: 'FR' }),
      draft({ port: 1 }),
      draft({ country: 'US' }),
    );
    assert.equal(records.length, 3);
    assert.equal(records[0]?.id, records[2]?.id);
    assert.equal((await store.get(records[0]?.id ?? 0))?.country, 'US');
    assert.equal(await total(store), 2);
  });

  test('the ID of a removed record is not reused', async (store) => {
    const [gone] = await saved(store, draft({ port: 1 }));
    assert.equal(await store.evict(0), 1);
    const [fresh] = await saved(store, draft({ port: 2 }));
    assert.notEqual(fresh?.id, gone?.id);
    assert.equal(await store.get(gone?.id ?? 0), null);
  });

  test('a batch with an invalid draft saves nothing', async (store) => {
    const faulty = { ...draft({ port: 2 }), country: null as unknown as string };
    const before = await store.version();
    await assert.rejects(store.save([draft({ port: 1 }), faulty]));
    assert.equal(await total(store), 0);
    assert.deepEqual((await store.summary()).counts, []);
    assert.equal(await store.version(), before);
    await store.save([draft({ port: 1 })]);
    assert.equal(await total(store), 1);
  });

  test('a thousand drafts can be saved in one batch, twice', async (store) => {
    const many = drafts(1000);
    const first = await store.save(many);
    const second = await store.save(many.map((each) => ({ ...each, uptime: 0.9 })));
    assert.deepEqual(
      second.map(({ id }) => id),
      first.map(({ id }) => id),
    );
    assert.equal(await total(store), 1000);
  });

  test('concurrent saves of one endpoint create one record', async (store) => {
    const all = await Promise.all(Array.from({ length: 20 }, (_, checks) => store.save([draft({ checks })])));
    assert.equal(new Set(all.flat().map(({ id }) => id)).size, 1);
    assert.equal(await total(store), 1);
    assert.equal((await store.summary()).total, 1);
  });

  test('lookup returns the known endpoints', async (store) => {
    await store.save(drafts(30));
    const asked = drafts(1500).map(({ protocol, ip, port }) => ({ protocol, ip, port }));
    const known = await store.lookup(asked);
    assert.deepEqual(
      known.map(({ ip }) => ip).sort(),
      drafts(30)
        .map(({ ip }) => ip)
        .sort(),
    );
    const [other] = drafts(1);
    assert.deepEqual(await store.lookup([{ protocol: 'socks4', ip: other?.ip ?? '', port: 8080 }]), []);
    assert.deepEqual(await store.lookup([]), []);
  });

  test('rescheduling changes only the next check', async (store) => {
    const [record] = await saved(store, draft());
    assert.equal(await store.reschedule(record?.id ?? 0, 42), true);
    assert.deepEqual(await store.get(record?.id ?? 0), { ...record, nextCheck: 42 });
    assert.equal(await store.reschedule((record?.id ?? 0) + 1, 42), false);
  });

  test('a proxy that a clock ahead has checked is due, and saved', async (store) => {
    const now = Date.now();
    const ahead = now + 72 * 3_600_000;
    await saved(store, draft({ status: 'alive', lastChecked: ahead, nextCheck: ahead }));
    assert.deepEqual(ports(await store.due(now, 10, 'alive')), [draft().port]);
    const [dead] = await saved(store, draft({ status: 'dead', lastChecked: now, nextCheck: now + 1 }));
    assert.equal((await store.get(dead?.id ?? 0))?.status, 'dead');
    assert.deepEqual(await store.due(now, 10, 'dead'), []);
  });

  test('due proxies of a status come longest overdue first, including those due right now', async (store) => {
    await store.save([30, 10, 50, 20, 40].map((port) => draft({ port, nextCheck: port })));
    assert.deepEqual(ports(await store.due(40, 10, 'alive')), [10, 20, 30, 40]);
    assert.deepEqual(ports(await store.due(40, 2, 'alive')), [10, 20]);
    assert.deepEqual(await store.due(9, 10, 'alive'), []);
    const [first] = await store.due(40, 1, 'alive');
    await store.reschedule(first?.id ?? 0, 100);
    assert.deepEqual(ports(await store.due(40, 10, 'alive')), [20, 30, 40]);
    assert.deepEqual(await store.due(40, 10, 'dead'), []);
  });

  test('dead proxies are removed by when they last worked, or else were first seen', async (store) => {
    const dead = { status: 'dead', firstSeen: 100 } as const;
    await store.save([
      draft({ port: 1, status: 'alive', firstSeen: 1, lastAlive: 1 }),
      draft({ port: 2, ...dead, lastAlive: 499 }),
      draft({ port: 3, ...dead, lastAlive: 500 }),
      draft({ port: 4, ...dead, lastAlive: null, firstSeen: 499 }),
      draft({ port: 5, ...dead, lastAlive: null, firstSeen: 500 }),
      draft({ port: 6, ...dead, lastAlive: 501, firstSeen: 1 }),
    ]);
    assert.equal(await store.removeDead(500), 2);
    assert.deepEqual(ports((await store.find(ALL)).items).sort(), [1, 3, 5, 6]);
    assert.equal(await store.removeDead(500), 0);
    assert.equal((await store.summary()).total, 4);
  });

  test('eviction removes dead proxies first, then the least reliable ones', async (store) => {
    await store.save([
      draft({ port: 1, status: 'dead', uptime: 0.99 }),
      draft({ port: 2, status: 'dead', uptime: 0.1 }),
      draft({ port: 3, uptime: 0.2 }),
      draft({ port: 4, uptime: 0.9, responseMs: 300 }),
      draft({ port: 5, uptime: 0.9, responseMs: 100 }),
      draft({ port: 6, uptime: 0.9, responseMs: null }),
    ]);
    const left = [[1, 3, 4, 5, 6], [3, 4, 5, 6], [4, 5, 6], [4, 5], [5], []];
    assert.equal(await store.evict(6), 0);
    assert.equal(await store.evict(100), 0);
    for (const expected of left) {
      assert.equal(await store.evict(expected.length), 1);
      assert.deepEqual(ports((await store.find(ALL)).items).sort(), expected);
    }
  });

  test('many proxies are evicted and removed in one call', async (store) => {
    await store.save(
      drafts(1200, (index) => ({ status: index % 2 ? 'dead' : 'alive', uptime: index / 1200 })),
    );
    assert.equal(await store.evict(700), 500);
    const { alive, total: left } = await store.summary();
    assert.deepEqual([alive, left], [600, 700]);
    assert.equal(await store.removeDead(Number.MAX_SAFE_INTEGER), 100);
    assert.equal(await total(store), 600);
  });

  test('concurrent evictions keep the number that each was asked to keep', async (store) => {
    await store.save(drafts(900));
    const removed = await Promise.all([store.evict(300), store.evict(300), store.evict(300)]);
    assert.equal(
      removed.reduce((sum, each) => sum + each, 0),
      600,
    );
    assert.equal(await total(store), 300);
  });

  test('the summary of an empty pool is all zeros', async (store) => {
    assert.deepEqual(await store.summary(), {
      alive: 0,
      total: 0,
      averageResponseMs: 0,
      aliveCountries: [],
      countries: [],
      counts: [],
    });
  });

  test('the summary follows saves, changes and removals', async (store) => {
    await store.save([
      draft({ port: 1, country: 'US', responseMs: 100 }),
      draft({ port: 2, country: 'DE', responseMs: 300.5 }),
      draft({ port: 3, country: 'ZZ', responseMs: 200, protocol: 'socks5' }),
      draft({ port: 4, country: 'FR', responseMs: 9000, status: 'dead' }),
      draft({ port: 5, country: 'BR', responseMs: 9000 }),
      draft({ port: 6, country: 'US', responseMs: 200, protocol: 'socks5' }),
    ]);
    await store.save([draft({ port: 5, country: 'AT', status: 'dead', responseMs: null, lastAlive: 1 })]);
    const { averageResponseMs, counts, ...rest } = await store.summary();
    assert.deepEqual(rest, {
      alive: 4,
      total: 6,
      aliveCountries: [
        { country: 'US', count: 2 },
        { country: 'DE', count: 1 },
        { country: 'ZZ', count: 1 },
      ],
      countries: ['AT', 'DE', 'FR', 'US', 'ZZ'],
    });
    assert.ok(Math.abs(averageResponseMs - 800.5 / 4) < 0.01, `${averageResponseMs} ms`);
    const byKey = new Map(counts.map(({ protocol, status, count }) => [`${protocol} ${status}`, count]));
    assert.deepEqual(
      [
        byKey.get('http alive'),
        byKey.get('http dead'),
        byKey.get('socks5 alive'),
        byKey.get('socks4 dead') ?? 0,
      ],
      [2, 2, 2, 0],
    );
    await store.removeDead(2);
    assert.deepEqual((await store.summary()).countries, ['DE', 'FR', 'US', 'ZZ']);
    await store.evict(0);
    assert.deepEqual((await store.summary()).countries, []);
    assert.equal((await store.summary()).averageResponseMs, 0);
  });

  test('the mean response time follows the checks of a country and protocol', async (store) => {
    const mean = async () => (await store.summary()).averageResponseMs;
    await store.save([draft({ port: 1, responseMs: 100 }), draft({ port: 2, responseMs: 300 })]);
    assert.equal(await mean(), 200);
    await store.save([draft({ port: 1, responseMs: 500 })]);
    assert.equal(await mean(), 400);
    await store.save([draft({ port: 3, responseMs: null })]);
    assert.equal(await mean(), 400);
    await store.save([draft({ port: 1, responseMs: 500, status: 'dead', lastAlive: 1 })]);
    assert.equal(await mean(), 300);
    await store.removeDead(2);
    assert.equal(await mean(), 300);
  });

  test('the version changes with every write, and only then', async (store) => {
    const versions = [await store.version()];
    const changed = async () => {
      const version = await store.version();
      assert.ok(!versions.includes(version), `${version} came before`);
      versions.push(version);
    };
    const [record] = await saved(store, draft({ port: 1 }), draft({ port: 2, status: 'dead', lastAlive: 1 }));
    await changed();
    await saved(store, draft({ port: 1, uptime: 0.9 }));
    await changed();
    await saved(store, draft({ port: 1, uptime: 0.9, lastChecked: 5 }));
    await changed();
    await store.reschedule(record?.id ?? 0, 5);
    await changed();
    await store.removeDead(10);
    await changed();
    await store.evict(0);
    await changed();

    await store.find(ALL);
    await store.sample({}, 5);
    await store.summary();
    await store.due(1, 1, 'alive');
    await store.removeDead(0);
    await store.evict(10);
    await store.reschedule(12345, 5);
    assert.equal(await store.version(), versions.at(-1));
  });

  test('an older check does not overwrite a newer one', async (store) => {
    const base = draft({ port: 1, lastChecked: 100, checks: 7 });
    const [record] = await saved(store, base);
    const [again] = await saved(store, { ...base, lastChecked: 99, checks: 8 });
    assert.equal(again?.id, record?.id);
    assert.equal((await store.get(record?.id ?? 0))?.checks, 7);
    await saved(store, { ...base, lastChecked: 100, checks: 9 });
    assert.equal((await store.get(record?.id ?? 0))?.checks, 9);
  });

  test('a job that was superseded writes nothing', async (store) => {
    const [old, young] = [1_763_000_000_000_000, 1_763_000_000_000_001];
    const fence = (token: number) => ({ name: 'refresh', token });
    const dead = (port: number) => draft({ port, status: 'dead', lastAlive: 1 });
    await store.save([dead(1)], fence(old));
    const [record] = await store.save([dead(2)], fence(young));
    const id = record?.id ?? 0;
    const writes = [
      store.save([dead(3)], fence(old)),
      store.reschedule(id, 5, fence(old)),
      store.removeDead(10, fence(old)),
      store.evict(0, fence(old)),
    ];
    await Promise.all(writes.map((write) => assert.rejects(write, { code: 'conflict' })));
    assert.equal((await store.find(ALL)).total, 2);
    assert.equal(await store.reschedule(id, 5, { name: 'recheck', token: 1 }), true);
    assert.equal(await store.removeDead(10, fence(young)), 2);
  });
}
