import assert from 'node:assert/strict';
import {
  ANONYMITIES,
  type Endpoint,
  formatUrl,
  PROOFS,
  PROTOCOLS,
  type ProxyFilter,
  type ProxyRecord,
  SORTS,
  type Sort,
} from '../../src/proxy/proxy.ts';
import type { ProxyStore } from '../../src/proxy/store.ts';
import { matchesFilter } from '../../src/proxy/targets/ranking.ts';
import { type Open, storeTest, type Test } from '../support/runner.ts';
import { draft, drafts } from '../support/stores/records.ts';

/** What `ProxyStore` promises about filters, orders, samples and streams. */
export function proxyQueryConformance(runner: Test, open: Open<ProxyStore>): void {
  const test = storeTest(runner, open);

  test('every filter works, alone and combined', async (store) => {
    const pool = await store.save(variety(240));
    for (const filter of filters()) {
      const expected = pool.filter((record) => matchesFilter(record, filter));
      const { items, total } = await store.find({ filter, sort: 'dependable', offset: 0, limit: 1000 });
      assert.deepEqual(keys(items), keys(sorted(expected, 'dependable')), JSON.stringify(filter));
      assert.equal(total, expected.length, JSON.stringify(filter));
    }
  });

  test('bounds of filters are inclusive, and proxies without a response time do not count as fast', async (store) => {
    await store.save([
      draft({ port: 1, responseMs: 100, lastChecked: 50, uptime: 0.5 }),
      draft({ port: 2, responseMs: null, lastChecked: 51, uptime: 0.51 }),
      draft({ port: 3, responseMs: 101, lastChecked: 49, uptime: 0.49 }),
    ]);
    const ports = async (filter: ProxyFilter) =>
      (await store.find({ filter, sort: 'dependable', offset: 0, limit: 9 })).items
        .map(({ port }) => port)
        .sort();
    assert.deepEqual(await ports({ maxResponseMs: 100 }), [1]);
    assert.deepEqual(await ports({ maxResponseMs: 99.9 }), []);
    assert.deepEqual(await ports({ checkedSince: 50 }), [1, 2]);
    assert.deepEqual(await ports({ checkedSince: 50, checkedUntil: 50 }), [1]);
    assert.deepEqual(await ports({ minScore: 0.5 }), [1, 2]);
    assert.deepEqual(await ports({ minScore: 0 }), [1, 2, 3]);
    assert.deepEqual(await ports({ countries: [`DE' OR '1'='1`] }), []);
  });

  for (const sort of SORTS) {
    test(`${sort}: best first, ties by id, with and without a filter`, async (store) => {
      const pool = await store.save(variety(120));
      for (const filter of [
        {},
        { status: 'alive' },
        { countries: ['US'] },
        { protocols: ['http'], minScore: 0.3 },
      ]) {
        const chosen = filter as ProxyFilter;
        const { items } = await store.find({ filter: chosen, sort, offset: 0, limit: 1000 });
        const expected = sorted(
          pool.filter((record) => matchesFilter(record, chosen)),
          sort,
        );
        assert.deepEqual(keys(items), keys(expected), JSON.stringify(filter));
      }
    });

    test(`${sort}: pages do not overlap and leave nothing out`, async (store) => {
      const pool = sorted(await store.save(variety(50)), sort);
      for (let offset = 0; offset < 70; offset += 9) {
        const { items, total } = await store.find({ filter: {}, sort, offset, limit: 9 });
        assert.deepEqual(keys(items), keys(pool.slice(offset, offset + 9)));
        assert.equal(total, 50);
      }
    });
  }

  test('sorted by reliability, a missing response time comes last among equals', async (store) => {
    await store.save([
      draft({ port: 1, uptime: 0.9, responseMs: null }),
      draft({ port: 2, uptime: 0.9, responseMs: 99_999 }),
      draft({ port: 3, uptime: 1, responseMs: null }),
      draft({ port: 4, uptime: 0.9, responseMs: 0.5 }),
    ]);
    const { items } = await store.find({ filter: {}, sort: 'dependable', offset: 0, limit: 10 });
    assert.deepEqual(
      items.map(({ port }) => port),
      [3, 4, 2, 1],
    );
  });

  test('a changed record moves to its new place and matches other filters', async (store) => {
    await store.save([draft({ port: 1, uptime: 0.9 }), draft({ port: 2, uptime: 0.8 })]);
    await store.save([draft({ port: 1, uptime: 0.7, country: 'FR', status: 'dead' })]);
    const all = await store.find({ filter: {}, sort: 'dependable', offset: 0, limit: 10 });
    assert.deepEqual(
      all.items.map(({ port }) => port),
      [2, 1],
    );
    const germans = await store.find({
      filter: { countries: ['DE'] },
      sort: 'dependable',
      offset: 0,
      limit: 10,
    });
    assert.deepEqual([germans.total, germans.items[0]?.port], [1, 2]);
    const dead = await store.find({ filter: { status: 'dead' }, sort: 'dependable', offset: 0, limit: 10 });
    assert.deepEqual([dead.total, dead.items[0]?.port], [1, 1]);
  });

  test('a sample has only matches, each at most once, and counts all of them', async (store) => {
    const pool = await store.save(variety(200));
    for (const filter of filters()) {
      const expected = new Set(keys(pool.filter((record) => matchesFilter(record, filter))));
      for (const limit of [1, 7, 60, 1000]) {
        const { items, total } = await store.sample(filter, limit);
        assert.equal(total, expected.size);
        assert.equal(items.length, Math.min(limit, expected.size));
        assert.equal(new Set(keys(items)).size, items.length);
        for (const key of keys(items)) assert.ok(expected.has(key));
      }
    }
    assert.deepEqual(await store.sample({ countries: ['XX'] }, 5), { items: [], total: 0 });
  });

  test('every match can be drawn, and draws differ', async (store) => {
    await store.save(drafts(20, (index) => ({ status: index < 12 ? 'alive' : 'dead' })));
    for (const limit of [1, 6]) {
      const seen = new Map<string, number>();
      for (let turn = 0; turn < 600 / limit; turn++) {
        const { items } = await store.sample({ status: 'alive' }, limit);
        for (const key of keys(items)) seen.set(key, (seen.get(key) ?? 0) + 1);
      }
      assert.equal(seen.size, 12);
      /* 50 of each are expected; the chance that a fair draw leaves these bounds is below one in a million. */
      for (const count of seen.values()) assert.ok(count > 12 && count < 110, `${count} of 600`);
    }
  });

  test('a stream has every match once, most reliable first', async (store) => {
    const pool: ProxyRecord[] = [];
    const many = variety(2600);
    for (let start = 0; start < many.length; start += 500) {
      pool.push(...(await store.save(many.slice(start, start + 500))));
    }
    for (const filter of FILTERS) {
      const expected = sorted(
        pool.filter((record) => matchesFilter(record, filter)),
        'dependable',
      );
      const streamed: ProxyRecord[] = [];
      for await (const batch of store.stream(filter)) {
        assert.ok(batch.length > 0 && batch.length <= 2000, `a batch of ${batch.length}`);
        streamed.push(...batch);
      }
      assert.deepEqual(keys(streamed), keys(expected), JSON.stringify(filter));
    }
  });

  test('a record written during a stream comes once', async (store) => {
    const many = variety(2400).map((each) => ({ ...each, status: 'alive' as const }));
    const pool = await store.save(many);
    const seen: string[] = [];
    for await (const batch of store.stream({})) {
      seen.push(...keys(batch));
      await store.save(many.map((each) => ({ ...each, uptime: 1 - each.uptime })));
    }
    assert.equal(new Set(seen).size, seen.length);
    assert.equal(seen.length, pool.length);
  });

  test('all matches come once, in every order, in batches', async (store) => {
    const pool = await store.save(variety(1700));
    for (const filter of FILTERS) {
      const found = pool.filter((record) => matchesFilter(record, filter));
      for (const sort of SORTS) {
        const expected = sorted(found, sort);
        const streamed = await all(store.stream(filter, sort));
        assert.deepEqual(streamed.map(formatUrl), expected.map(formatUrl), JSON.stringify({ filter, sort }));
      }
      const endpoints = await all(store.endpoints(filter));
      assert.deepEqual(endpoints.map(formatUrl), sorted(found, 'dependable').map(formatUrl));
    }
  });

  test('response times of working proxies come in batches, unknown ones as infinite', async (store) => {
    const pool = await store.save(variety(1700));
    const times = (await Array.fromAsync(store.responseTimes())).flat();
    const expected = pool.flatMap(({ status, responseMs }) =>
      status === 'alive' ? (responseMs ?? Infinity) : [],
    );
    assert.deepEqual(
      times.toSorted((a, b) => a - b),
      expected.sort((a, b) => a - b),
    );
  });

  test('in random order all matches come once, each time in another order', async (store) => {
    await store.save(variety(1700));
    const draw = async () => (await all(store.stream({}, 'random'))).map(formatUrl);
    const [first, second] = [await draw(), await draw()];
    assert.equal(new Set(first).size, 1700);
    assert.deepEqual(first.toSorted(), second.toSorted());
    assert.notDeepEqual(first, second);
  });

  test('endpoints written during a stream come at most once, and all others exactly once', async (store) => {
    const many = variety(2400).map((each) => ({ ...each, status: 'alive' as const }));
    await store.save(many);
    const moving = many.filter((_, index) => index % 3 === 0);
    const resting = many.filter((_, index) => index % 3 !== 0);
    const seen: string[] = [];
    let turn = 0;
    for await (const batch of store.endpoints({})) {
      seen.push(...batch.map(formatUrl));
      // Back and forth between both ends of the order.
      turn++;
      await store.save(moving.map((each, index) => ({ ...each, uptime: (index + turn) % 2 })));
    }
    const found = new Set(seen);
    assert.equal(found.size, seen.length);
    for (const each of resting) assert.ok(found.has(formatUrl(each)), `${formatUrl(each)} is missing`);
  });

  test('a stream of endpoints can be closed early, and endpoints can be removed meanwhile', async (store) => {
    await store.save(variety(2400));
    for await (const batch of store.endpoints({})) {
      assert.ok(batch.length > 0);
      break;
    }
    let seen = 0;
    for await (const batch of store.endpoints({})) {
      seen += batch.length;
      await store.evict(0);
    }
    assert.ok(seen > 0 && seen <= 2400);
  });

  test('removing records during a stream causes no error', async (store) => {
    await store.save(variety(2400));
    let seen = 0;
    for await (const batch of store.stream({})) {
      seen += batch.length;
      await store.evict(0);
    }
    assert.ok(seen > 0 && seen <= 2400);
  });

  test('a stream can be closed early', async (store) => {
    await store.save(variety(2400));
    for await (const batch of store.stream({})) {
      assert.ok(batch.length > 0);
      break;
    }
    assert.equal((await store.find({ filter: {}, sort: 'dependable', offset: 0, limit: 1 })).total, 2400);
  });
}

const FILTERS: ProxyFilter[] = [
  {},
  { status: 'alive', protocols: ['http'] },
  { countries: ['DE'], minScore: 0.5 },
  { countries: ['XX'] },
];
const COUNTRIES = ['DE', 'US', 'FR', 'ZZ'] as const;

/** Drafts in which every field of a filter varies, with many ties. */
function variety(count: number) {
  return drafts(count, (index) => ({
    protocol: PROTOCOLS[index % 4] ?? 'http',
    country: COUNTRIES[((index * 7) % 11) % 4] ?? 'ZZ',
    status: index % 3 === 0 ? 'dead' : 'alive',
    source: `list-${index % 5}`,
    anonymity: ANONYMITIES[index % 7] ?? null,
    proof: PROOFS[index % 5] ?? null,
    responseMs: index % 6 === 0 ? null : ((index * 13) % 17) * 100,
    uptime: ((index * 5) % 9) / 8,
    uptimeWeight: ((index * 3) % 8) / 8,
    port: 8080 + (index % 3),
    tampering: [null, '', 'via'][index % 3] ?? null,
    login: index % 10 === 3 ? `user-${index}:secret` : null,
    lastChecked: 1000 + ((index * 11) % 13),
    firstSeen: 500 + ((index * 3) % 10),
  }));
}

function filters(): ProxyFilter[] {
  const single: ProxyFilter[] = [
    {},
    { countries: ['DE'] },
    { status: 'alive' },
    { anonymity: 'elite' },
    { proofs: ['tls', 'relayed'] },
    { source: 'list-2' },
    { maxResponseMs: 800 },
    { checkedSince: 1003, checkedUntil: 1006 },
    { minScore: 0.5 },
    { minUptime: 0.5 },
    { protocols: ['http', 'socks4'] },
    { countries: ['DE', 'FR'] },
    { excludeCountries: ['DE', 'ZZ'] },
    { ports: [8081, 8082, 9] },
    { tampers: false },
    { tampers: true },
    { login: false },
    { login: true },
  ];
  const pairs = single.flatMap((one, index) =>
    single.slice(index + 1).map((other) => ({ ...one, ...other })),
  );
  const more: ProxyFilter[] = [
    { countries: ['US'], excludeCountries: ['US'] },
    { protocols: ['http'], countries: ['US'], status: 'alive' },
    { protocols: ['http'], status: 'alive', minScore: 0.25, maxResponseMs: 1200, excludeCountries: ['ZZ'] },
    { countries: ['ZZ'], status: 'dead', anonymity: 'anonymous', source: 'list-1', checkedSince: 1001 },
  ];
  return [...single, ...pairs, ...more];
}

const RANKS: Record<Sort, (record: ProxyRecord) => number[]> = {
  dependable: ({ uptime, responseMs, id }) => [-uptime, responseMs ?? Number.MAX_VALUE, id],
  response_time: ({ responseMs, id }) => [responseMs ?? Number.MAX_VALUE, id],
  last_checked: ({ lastChecked, id }) => [-lastChecked, id],
  first_seen: ({ firstSeen, id }) => [-firstSeen, id],
};

function sorted(records: readonly ProxyRecord[], sort: Sort): ProxyRecord[] {
  return [...records].sort((a, b) => {
    const [left, right] = [RANKS[sort](a), RANKS[sort](b)];
    const index = left.findIndex((value, position) => value !== right[position]);
    return index < 0 ? 0 : (left[index] ?? 0) - (right[index] ?? 0);
  });
}

function keys(records: readonly ProxyRecord[]): string[] {
  return records.map(({ id, ip }) => `${id} ${ip}`);
}

async function all(batches: AsyncIterable<Endpoint[]>): Promise<Endpoint[]> {
  const endpoints: Endpoint[] = [];
  for await (const batch of batches) {
    assert.ok(batch.length > 0 && batch.length <= 1000, `a batch of ${batch.length}`);
    endpoints.push(...batch);
  }
  return endpoints;
}
