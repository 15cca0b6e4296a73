import { expect, test } from 'bun:test';
import { exitOf } from '../../src/gateway/upstream.ts';
import { formatLogin, loginOf, partsOf } from '../../src/proxy/login.ts';
import { createLogins } from '../../src/proxy/pool/logins.ts';
import { followed } from '../support/gateway/followed.ts';
import { createPool, draft, failed, passed } from '../support/pool/pool.ts';
import { endedAfterEach } from '../support/shared.ts';

const openPool = endedAfterEach(createPool);

const OWN = 'http://192.0.2.1:80';

/** A pool over one list, in a network where only the login lets anybody through. */
async function poolWith(list: string[], login: string) {
  const pool = await openPool({ own: list });
  const tried: (string | null)[] = [];
  pool.network.check = async (endpoint) => {
    tried.push(endpoint.login ?? null);
    return endpoint.login === login ? passed : failed;
  };
  const only = async () =>
    (await pool.store.find({ filter: {}, sort: 'dependable', offset: 0, limit: 9 })).items;
  return { ...pool, tried, only };
}

test('a login has two parts, and the first has no colon', () => {
  expect(loginOf({ user: 'me', password: 'a:b' })).toBe('me:a:b');
  expect(partsOf('me:a:b')).toEqual({ user: 'me', password: 'a:b' });
  expect(formatLogin('m e:a:b@')).toBe('m%20e:a%3Ab%40');
  for (const user of ['', 'm:e', 'm\ne', '\ud800', 'é'.repeat(128)])
    expect(loginOf({ user, password: '' })).toBeNull();
});

test('only a new or changed login is reported', () => {
  const logins = createLogins();
  const place = { ip: '192.0.2.1', port: 80 };
  expect([logins.offer(place, 'a:b'), logins.offer(place, 'a:b'), logins.offer(place, 'a:c')]).toEqual([
    true,
    false,
    true,
  ]);
  expect([logins.of(place), logins.of({ ...place, port: 81 })]).toEqual(['a:c', null]);
});

test('a proxy is tried with the login of its list, remembered with it, and checked again with it', async () => {
  const pool = await poolWith(['http://me:secret@192.0.2.1:80'], 'me:secret');
  await pool.refresh();
  const found = await pool.only();
  expect(found.map(({ protocol, status, login }) => [protocol, status, login])).toEqual([
    ['http', 'alive', 'me:secret'],
    ['https', 'alive', 'me:secret'],
  ]);
  await pool.refresh();
  expect(new Set(pool.tried)).toEqual(new Set(['me:secret']));
  const quick = (proxyId?: number) =>
    pool.service.testQuick(
      { protocol: 'http', ip: '192.0.2.1', port: 80, proxyId },
      { admin: true, payer: '' },
    );
  expect(await quick()).toMatchObject({ result: { verdict: 'dead' } });
  expect(await quick(found[0]?.id)).toMatchObject({ result: { verdict: 'alive' } });
});

test('a login changed in the list is used at once, also for proxies that were dead with the old one', async () => {
  const pool = await poolWith(['http://me:new@192.0.2.1:80'], 'me:new');
  const now = pool.clock.now();
  const later = { nextCheck: now + 86_400_000, login: 'me:old' };
  await pool.store.save([draft(OWN, now, { ...later, status: 'dead', error: 'auth_required' })]);
  await pool.refresh({ all: false });
  const [changed] = await pool.only();
  expect(changed).toMatchObject({ login: 'me:new' });
  expect(changed?.nextCheck).toBeLessThanOrEqual(pool.clock.now());
  await pool.refresh();
  expect((await pool.only())[0]).toMatchObject({ login: 'me:new', status: 'alive' });
});

test('a list without logins removes none', async () => {
  const pool = await poolWith([OWN], 'me:secret');
  const now = pool.clock.now();
  await pool.store.save([draft(OWN, now - 3_600_000, { login: 'me:secret' })]);
  await pool.refresh();
  expect((await pool.only())[0]).toMatchObject({ login: 'me:secret', status: 'alive' });
});

test('a login that was corrected has its turn in the same pass', async () => {
  const list = ['any://me:wrong@192.0.2.1:80'];
  const pool = await poolWith(list, 'me:right');
  await pool.refresh();
  const before = pool.tried.length;
  await pool.refresh();
  expect(pool.tried).toHaveLength(before);
  list[0] = 'any://me:right@192.0.2.1:80';
  await pool.refresh();
  expect((await pool.only())[0]).toMatchObject({ login: 'me:right', status: 'alive' });
});

test('the gateway gets the login of each proxy in the pool', async () => {
  const pool = await openPool();
  await pool.store.save([
    draft(OWN, pool.clock.now(), { login: 'me:secret' }),
    draft('socks5://192.0.2.2:80', pool.clock.now()),
  ]);
  const logins = [...(await followed(pool.store))].map(([key, { login }]) => [
    key.replace(/#\w{16}$/, '#hash'),
    login,
  ]);
  expect(Object.fromEntries(logins)).toEqual({
    [`${OWN}#hash`]: 'me:secret',
    'socks5://192.0.2.2:80': null,
  });
});

test('an exit counts only if the proxy cannot have made up the page that named it', async () => {
  const pool = await openPool();
  const now = pool.clock.now();
  const claims = { exitIp: '192.0.2.99' };
  await pool.store.save([
    draft('http://192.0.2.1:80', now, { ...claims, proof: 'relayed' }),
    draft('socks5://192.0.2.2:80', now, { ...claims, proof: 'tls' }),
    draft('http://192.0.2.3:80', now, { ...claims, proof: 'signed' }),
  ]);
  const exits = [...(await followed(pool.store))].map(([key, upstream]) => [key, exitOf(upstream)]);
  expect(Object.fromEntries(exits)).toEqual({
    'http://192.0.2.1:80': '192.0.2.1',
    'socks5://192.0.2.2:80': '192.0.2.99',
    'http://192.0.2.3:80': '192.0.2.99',
  });
});
