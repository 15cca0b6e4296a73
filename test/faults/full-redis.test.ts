import { expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openRedis } from '../../adapters/redis/connection.ts';
import { createRedisProxies } from '../../adapters/redis/proxies.ts';
import { openProxyReplica } from '../../adapters/sqlite/proxy-replica.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { json } from '../support/json.ts';
import { cli } from '../support/servers/cli.ts';
import { QUIET, upload } from '../support/servers/quiet-server.ts';
import { PNG } from '../support/servers/running-server.ts';
import { logInto, startServer } from '../support/servers/server-process.ts';
import { shared, sharedFolder } from '../support/shared.ts';
import { draft } from '../support/stores/records.ts';
import { command, startRedis, until } from '../support/stores/services.ts';

const redis = shared(startRedis);
const folder = await sharedFolder();

test('while Redis is at its limit of memory, uploads get 507, views are counted, and users, moderators and the cleanup can act', async () => {
  const port = Number(new URL(redis.url).port);
  const [acts, log] = [join(folder, 'acts.jsonl'), join(folder, 'full.log')];
  const settings = {
    METADATA_URL: redis.url,
    IMAGE_RETENTION: '1s',
    ADMIN_TOKEN: 'the-administrator',
    AUDIT_LOG: acts,
  };
  const server = await startServer('bun', { ...QUIET, ...settings }, undefined, logInto(log));
  const headers = { authorization: 'Bearer the-administrator', 'content-type': 'application/json' };
  try {
    const { id } = await upload(server);
    const limited = await fetch(`${server.url}/api/upload?max_views=2`, { method: 'POST', body: PNG });
    const { raw_url: rawUrl } = await json<{ raw_url: string }>(limited);
    const shown = await upload(server);
    // Nobody has opened it for a while.
    const idle = await upload(server);
    await command(port, 'ZADD', '{picpool:images}:idle', '1000', idle.id);
    const seen = await upload(server);
    await command(port, 'ZADD', '{picpool:images}:idle', '1000', seen.id);
    await command(port, 'CONFIG', 'SET', 'maxmemory', '1');
    const refused = await fetch(`${server.url}/api/upload`, {
      method: 'POST',
      body: await Bun.file('docs/screenshots/home-wide-light.webp').bytes(),
    });
    expect([refused.status, await refused.json()]).toEqual([
      507,
      expect.objectContaining({ code: 'storage_full' }),
    ]);
    await until(async () =>
      (await (await fetch(`${server.url}/readyz`)).text()).includes('The record store is not writable.'),
    );
    const doctor = await cli(['doctor', '--offline'], { env: { ...QUIET, METADATA_URL: redis.url } });
    expect(doctor.stdout).toMatch(/FAIL +record store .*is full\..*\n +Give it more space/);
    expect((await readFile(log, 'utf8')).match(/degraded.*not writable/g)).toHaveLength(1);
    expect((await fetch(`${server.url}/api/delete/${id}`, { method: 'DELETE' })).status).toBe(200);
    expect((await fetch(rawUrl)).status).toBe(200);
    expect((await fetch(`${server.url}/i/${seen.id}`)).status).toBe(200);
    const block = { method: 'POST', headers, body: JSON.stringify({ network: '192.0.2.1' }) };
    expect((await fetch(`${server.url}/api/admin/blocks`, block)).status).toBe(200);
    const unblock = `${server.url}/api/admin/blocks?network=192.0.2.1`;
    expect((await fetch(unblock, { method: 'DELETE', headers })).status).toBe(200);
    const hide = { method: 'PATCH', headers, body: JSON.stringify({ visibility: 'unlisted' }) };
    expect((await fetch(`${server.url}/api/image/${shown.id}`, hide)).status).toBe(200);
    const told = (await readFile(acts, 'utf8')).split('\n').filter((line) => line.includes('192.0.2.1'));
    expect(told.map((line) => JSON.parse(line).what)).toEqual(['block.add', 'block.remove']);
    const listed = await (await fetch(`${server.url}/api/admin/log`, { headers })).text();
    for (const subject of ['network 192.0.2.1', `image ${id}`]) expect(listed).toContain(subject);
    // Otherwise other copies would take it for idle.
    await until(async () => {
      const at = await command(port, 'ZSCORE', '{picpool:images}:idle', seen.id);
      return Number(at.split('\r\n')[1]) > 1000;
    });
    // The server has to have run for as long as pictures are kept.
    await until(async () => {
      const cleanup = await fetch(`${server.url}/api/cleanup`, { method: 'POST', headers });
      expect(cleanup.status).toBe(200);
      return (await fetch(`${server.url}/api/info/${idle.id}`)).status === 404;
    });
    const another = await startServer('bun', { ...QUIET, SERVICES: 'image', ...settings }, server.folder);
    expect((await fetch(`${another.url}/api/list`)).status).toBe(200);
    expect(await another.stop()).toBe(0);
    await command(port, 'CONFIG', 'SET', 'maxmemory', '0');
    expect((await upload(server)).status).toBe(201);
  } finally {
    await command(port, 'CONFIG', 'SET', 'maxmemory', '0');
    await server.stop();
  }
}, 60_000);

test('while Redis is at its limit of memory, proxies that it has are found dead, and new ones are refused', async () => {
  const connection = await openRedis(redis.url);
  const proxies = createRedisProxies(connection, () => openProxyReplica(bunRuntime, folder));
  const fence = { name: 'recheck', token: 1 };
  const [known, fresh] = [draft({ status: 'alive' }), draft({ ip: '192.0.2.2' })];
  const dead = { ...known, status: 'dead', lastChecked: known.lastChecked + 1 } as const;
  try {
    const [saved] = await proxies.save([known], fence);
    const records = connection.key('proxies', 'records');
    await connection.call('safe', 'HSET', records, '99', '[5]');
    await connection.call('safe', 'CONFIG', 'SET', 'maxmemory', '1');
    await expect(proxies.reschedule(99, 7, fence)).rejects.toThrow();
    expect(await connection.call('safe', 'HGET', records, '99')).toBe('[5]');
    await proxies.save([dead], fence);
    expect(await proxies.reschedule(saved?.id ?? 0, 7, fence)).toBe(true);
    await expect(proxies.save([known, fresh])).rejects.toMatchObject({ code: 'storage_full' });
    expect(await proxies.lookup([known, fresh])).toEqual([{ ...dead, nextCheck: 7, id: saved?.id ?? 0 }]);
  } finally {
    await connection.call('safe', 'CONFIG', 'SET', 'maxmemory', '0');
    await connection.close();
  }
});

test('a LIMITS_URL that cannot work stops the start, and one that does not answer is named by doctor, the log and /readyz', async () => {
  const invalid = await cli(['serve'], {
    env: { ...QUIET, DATA_DIR: folder, PORT: '0', LIMITS_URL: 'redis://a,b' },
  });
  expect([invalid.code, invalid.stderr]).toEqual([
    2,
    expect.stringContaining('LIMITS_URL cannot be used: several hosts in a redis: URL'),
  ]);
  const doctor = await cli(['doctor', '--offline'], {
    env: { ...QUIET, DATA_DIR: folder, LIMITS_URL: 'redis://:wrong@127.0.0.1:9' },
  });
  expect(doctor.stdout).toMatch(
    /FAIL +limits +redis:\/\/\*\*\*@127\.0\.0\.1:9: The database does not respond/,
  );
  const url = new URL(redis.url);
  const rights = ['+eval', '+evalsha', '+hmget', '+hset', '+pexpire', '+del', '+time'];
  await command(Number(url.port), 'ACL', 'SETUSER', 'counter', 'on', '>secret', '~*', ...rights);
  const least = await cli(['doctor', '--offline'], {
    env: { ...QUIET, DATA_DIR: folder, LIMITS_URL: `redis://counter:secret@${url.host}` },
  });
  expect(least.stdout).toMatch(/^ok +limits/m);
  const log = join(folder, 'log');
  const settings = {
    ...QUIET,
    SERVICES: 'image',
    RATE_LIMITS: 'on',
    LIMITS_URL: 'redis://:wrong@127.0.0.1:9',
  };
  const server = await startServer('bun', settings, undefined, logInto(log));
  try {
    for (let times = 0; times < 3; times++) expect((await fetch(`${server.url}/api/list`)).status).toBe(200);
    await until(async () => (await readFile(log, 'utf8')).includes('LIMITS_URL does not answer'));
    expect((await readFile(log, 'utf8')).split('LIMITS_URL does not answer')).toHaveLength(2);
    expect(await (await fetch(`${server.url}/readyz`)).json()).toMatchObject({
      degraded: ['LIMITS_URL does not answer: each copy limits on its own.'],
    });
  } finally {
    await server.stop();
  }
}, 60_000);
