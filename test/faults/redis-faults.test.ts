import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { createLocalRateLimiter } from '../../adapters/local/rate-limiter.ts';
import { openRedis } from '../../adapters/redis/connection.ts';
import { createRedisImages } from '../../adapters/redis/images.ts';
import { createRedisLocks } from '../../adapters/redis/locks.ts';
import { createRedisProxies } from '../../adapters/redis/proxies.ts';
import { createRedisRateLimiter } from '../../adapters/redis/rate-limiter.ts';
import { createRedisState } from '../../adapters/redis/state.ts';
import { openImageReplica } from '../../adapters/sqlite/image-replica.ts';
import { openProxyReplica } from '../../adapters/sqlite/proxy-replica.ts';
import { withFallback } from '../../src/lib/fallback-limiter.ts';
import { exportProxies } from '../../src/proxy/pool/export.ts';
import { EXPORT_FORMATS } from '../../src/proxy/queries.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { draft, drafts, image } from '../support/stores/records.ts';
import { command, type Service, startRedis, until } from '../support/stores/services.ts';

setDefaultTimeout(180_000);

/** The stores of one copy of picpool. */
async function openStores(url: string) {
  const redis = await openRedis(url);
  return {
    proxies: createRedisProxies(redis, () => openProxyReplica(bunRuntime, tmpdir())),
    images: createRedisImages(redis, () => openImageReplica(bunRuntime, tmpdir())),
    state: createRedisState(redis),
    locks: createRedisLocks(redis),
    limiter: createRedisRateLimiter(redis),
    close: () => redis.close(),
  };
}
type Copy = Awaited<ReturnType<typeof openStores>>;

const ALL = { filter: {}, sort: 'dependable', offset: 0, limit: 1000 } as const;

let server: Service;
let one: Copy;
let two: Copy;
const admin = (...words: string[]) => command(Number(new URL(server.url).port), ...words);
const totalIn = async (copy: Copy) => (await copy.proxies.find(ALL)).total;

beforeAll(async () => {
  server = await startRedis();
  [one, two] = [await openStores(server.url), await openStores(server.url)];
});
afterAll(async () => {
  await Promise.all([one.close(), two.close()]);
  await server.stop();
});

/** The export in every format. */
function exported({ proxies }: Copy): Promise<string[]> {
  const query = { filter: {}, order: 'dependable', offset: 0, limit: 1000 } as const;
  const rest = { remoteDns: false, uniqueExit: false, logins: false };
  const text = (format: (typeof EXPORT_FORMATS)[number]) =>
    Array.fromAsync(exportProxies(proxies, { ...query, ...rest, format })).then((pieces) => pieces.join(''));
  return Promise.all(EXPORT_FORMATS.map(text));
}

/** Every kind of call that needs the server. */
function calls({ proxies, images, state, locks, limiter }: Copy): Promise<unknown>[] {
  return [
    proxies.save([draft()]),
    proxies.due(0, 1, 'alive'),
    images.get('000000000000'),
    images.insert(image({ id: crypto.randomUUID() })),
    images.list({ offset: 0, limit: 1 }),
    images.remove('000000000000'),
    state.get('a'),
    state.set('a', 'b'),
    locks.acquire('a', 1000),
    Promise.resolve(limiter.take('a', { capacity: 1, perSecond: 1 })),
  ];
}

const succeeds = (promise: Promise<unknown>) =>
  promise.then(
    () => true,
    () => false,
  );

async function expectUnavailable(promises: Promise<unknown>[], code = 'unavailable'): Promise<void> {
  const startedAt = performance.now();
  const codes = (await Promise.allSettled(promises)).map((result) =>
    result.status === 'rejected' ? result.reason.code : 'fulfilled',
  );
  expect(codes).toEqual(promises.map(() => code));
  expect(performance.now() - startedAt).toBeLessThan(30_000);
}

test('user, password and database of the URL are used, and a wrong password is unavailable', async () => {
  await admin('ACL', 'SETUSER', 'pic', 'on', '>p@ss/w:rd', '~*', '+@all');
  const { host } = new URL(server.url);
  const copy = await openStores(`redis://pic:${encodeURIComponent('p@ss/w:rd')}@${host}/3?prefix=own`);
  await copy.state.set('a', 'elsewhere');
  expect(await copy.state.get('a')).toBe('elsewhere');
  expect(await one.state.get('a')).toBeNull();
  const refusal = {
    message: 'The database refuses the credentials of this server.',
    retryAfterMs: undefined,
  };
  const says = (text: string) => ({ ...refusal, cause: { message: expect.stringContaining(text) } });
  await admin('ACL', 'SETUSER', 'pic', '-@scripting');
  await expect(copy.state.set('a', 'b')).rejects.toMatchObject(says('NOPERM'));
  await admin('ACL', 'SETUSER', 'pic', '+@all', '<p@ss/w:rd', '>another');
  await admin('CLIENT', 'KILL', 'USER', 'pic');
  await until(() =>
    copy.state.get('a').then(
      () => false,
      ({ cause }) => /WRONGPASS/.test(cause),
    ),
  );
  await expect(copy.state.get('a')).rejects.toMatchObject(says('WRONGPASS'));
  await copy.close();
  await expect(openStores(`redis://pic:wrong@${host}`)).rejects.toMatchObject({ code: 'unavailable' });
});

test('what one copy writes, the others soon see', async () => {
  await totalIn(two);
  await two.images.list({ text: 'shared', offset: 0, limit: 1 });
  const [record] = await one.proxies.save([draft({ country: 'SE' })]);
  await one.images.insert(image({ id: 'shared000000', filename: 'shared.png' }));
  await until(async () => (await two.proxies.find({ ...ALL, filter: { countries: ['SE'] } })).total === 1);
  await until(async () => (await two.images.list({ text: 'SHARED', offset: 0, limit: 1 })).total === 1);
  expect(await two.proxies.get(record?.id ?? 0)).toEqual(record ?? null);
});

test('while the server is down everything is unavailable in time, but lists go on; then all comes back', async () => {
  await one.proxies.save(drafts(50));
  const before = await one.proxies.find(ALL);
  const exports = await exported(one);
  await server.kill();
  await expectUnavailable(calls(one));
  expect(await one.proxies.find(ALL)).toEqual(before);
  expect(await exported(one)).toEqual(exports);
  expect(await one.proxies.get(before.items[0]?.id ?? 0)).toEqual(before.items[0] ?? null);
  await server.start();
  await until(() => succeeds(one.state.get('a')));
  expect(await one.proxies.find(ALL)).toEqual(before);
  await until(async () => (await totalIn(two)) === before.total);
  expect(await two.proxies.find(ALL)).toEqual(before);
  const settled = await Promise.allSettled(calls(one));
  expect(settled.filter(({ status }) => status === 'rejected')).toEqual([]);
});

test('while the server hangs everything is unavailable in time, but lists go on; then all comes back', async () => {
  const before = await one.proxies.find(ALL);
  const lease = await one.locks.acquire('hanging', 1500);
  server.pause();
  try {
    const lost = new Promise((resolve) => lease?.lost.addEventListener('abort', resolve, { once: true }));
    await Promise.all([expectUnavailable(calls(one)), lost]);
    expect((await one.proxies.find(ALL)).total).toBe(before.total);
    const limiter = withFallback(one.limiter, createLocalRateLimiter());
    expect((await limiter.take('hung', { capacity: 1, perSecond: 0.001 })).allowed).toBe(true);
    expect((await limiter.take('hung', { capacity: 1, perSecond: 0.001 })).allowed).toBe(false);
  } finally {
    server.resume();
  }
  await until(() => succeeds(one.state.get('a')));
  await one.proxies.save([draft()]);
});

test('a server that is full or read-only refuses writes and leaves reads alone', async () => {
  const turns = [
    [['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0'], ['storage_full']],
    [
      ['REPLICAOF', '127.0.0.1', '1'],
      ['REPLICAOF', 'NO', 'ONE'],
    ],
  ];
  for (const [begin = [], end = [], [code] = []] of turns) {
    await admin(...begin);
    await expectUnavailable(
      [
        one.proxies.save([draft({ ip: '192.0.2.99' })]),
        one.images.insert(image({ id: crypto.randomUUID() })),
      ],
      code,
    );
    await until(() =>
      one.images.get('shared000000').then(
        (found) => found !== null,
        () => false,
      ),
    );
    await admin(...end);
    await until(() => succeeds(one.proxies.save([draft()])));
  }
});

test('copies notice that the server was emptied, or that their place in the log is gone, and read everything again', async () => {
  await totalIn(two);
  await admin('FLUSHALL');
  await until(async () => (await totalIn(two)) === 0);
  const total = 3;
  await one.proxies.save(drafts(total));
  await until(async () => (await totalIn(two)) === total);
  await admin('DEL', '{picpool:proxies}:log');
  await one.proxies.save(drafts(total + 5));
  await until(async () => (await totalIn(two)) === total + 5);
  expect(await two.proxies.find(ALL)).toEqual(await one.proxies.find(ALL));
});

test('when a holder dies the next one comes after the time to live, with a larger token', async () => {
  const dying = await openStores(server.url);
  const first = await dying.locks.acquire('refresh', 500);
  await dying.close();
  let second = await two.locks.acquire('refresh', 500);
  expect(second).toBeNull();
  await until(async () => {
    second ??= await two.locks.acquire('refresh', 500);
    return second !== null;
  });
  expect(second?.token).toBeGreaterThan(first?.token ?? 0);
  await until(async () => first?.lost.aborted ?? false);
  expect(second?.lost.aborted).toBe(false);
  await second?.release();
});

test('a lease that was taken away is lost at the next renewal, and its release harms nobody', async () => {
  const first = await one.locks.acquire('stolen', 300);
  await admin('DEL', '{picpool:lock:stolen}:owner');
  const second = await two.locks.acquire('stolen', 5000);
  expect(second?.token).toBeGreaterThan(first?.token ?? 0);
  await until(async () => first?.lost.aborted ?? false);
  await first?.release();
  expect(await one.locks.acquire('stolen', 300)).toBeNull();
  await second?.release();
});

test('tokens grow although the server has lost everything', async () => {
  const first = await one.locks.acquire('emptied', 1000);
  await admin('FLUSHALL');
  const second = await two.locks.acquire('emptied', 1000);
  expect(second?.token).toBeGreaterThan(first?.token ?? 0);
  await Promise.all([first?.release(), second?.release()]);
});

test('many who contend for a lock, some of which die, never hold it together', async () => {
  const copies = [one, two, await openStores(server.url), await openStores(server.url)];
  let holders = 0;
  let most = 0;
  const tokens: number[] = [];
  async function contend({ locks }: Copy, index: number): Promise<void> {
    for (let turn = 0; turn < 40; turn++) {
      const lease = await locks.acquire('contended', 5000);
      if (!lease) {
        await Bun.sleep(3);
        continue;
      }
      tokens.push(lease.token);
      most = Math.max(most, ++holders);
      const stolen = (turn + index) % 5 === 0;
      if (stolen) holders--;
      if (stolen) await admin('DEL', '{picpool:lock:contended}:owner');
      await Bun.sleep(2);
      if (!stolen) holders--;
      await lease.release();
    }
  }
  await Promise.all(copies.map(contend));
  expect(most).toBe(1);
  expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
  await Promise.all(copies.slice(2).map((copy) => copy.close()));
});
