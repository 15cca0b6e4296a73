import { expect, test } from 'bun:test';
import type { ExportQuery } from '../../src/proxy/pool/export.ts';
import { createPool, draft } from '../support/pool/pool.ts';
import { endedAfterEach } from '../support/shared.ts';

const openPool = endedAfterEach(createPool);

test('a list is read from its end, page by page, without a gap or a repetition', async () => {
  const pool = await openPool();
  const now = pool.clock.now();
  const drafts = Array.from({ length: 7 }, (_, index) =>
    draft(`http://192.0.2.${index + 1}:80`, now, { responseMs: 10 * (index + 1) }),
  );
  await pool.store.save(drafts);
  const page = async (offset: number) => {
    const { items, total } = await pool.service.list({
      filter: { status: 'alive' },
      sort: 'response_time',
      reverse: true,
      offset,
      limit: 3,
    });
    expect(total).toBe(7);
    return items.map(({ responseMs }) => responseMs);
  };
  expect(await page(0)).toEqual([70, 60, 50]);
  expect(await page(3)).toEqual([40, 30, 20]);
  expect(await page(6)).toEqual([10]);
  expect(await page(9)).toEqual([]);
});

test('an export has as many different lines as the limit says, and the next page has none of them again', async () => {
  const pool = await openPool();
  const now = pool.clock.now();
  const drafts = [1, 2, 3, 4, 5, 6].flatMap((n) =>
    ['http', 'https'].map((protocol) =>
      draft(`${protocol}://192.0.2.${n}:80`, now, { uptime: 0.9 - n / 100 }),
    ),
  );
  await pool.store.save(drafts);
  for (const [format, line] of [
    ['url', (n: number) => `http://192.0.2.${n}:80`],
    ['text', (n: number) => `192.0.2.${n}:80`],
  ] as const) {
    const page = async (offset: number) =>
      (await exported(pool, { format, offset, limit: 3 })).trim().split('\n');
    expect([await page(0), await page(3)]).toEqual([[1, 2, 3].map(line), [4, 5, 6].map(line)]);
  }
  expect((await exported(pool, { format: 'standard' })).trim().split('\n')).toHaveLength(12);
});

test('of the proxies with one exit, the most dependable is listed and exported, in any order', async () => {
  const pool = await openPool();
  const now = pool.clock.now();
  const drafts = [1, 2, 3].flatMap((n) => [
    draft(`http://192.0.2.${n}:80`, now, {
      exitIp: `198.51.100.${n}`,
      proof: 'tls',
      uptime: 0.9,
      responseMs: 900 - n,
    }),
    draft(`http://192.0.2.${n + 7}:80`, now, {
      exitIp: `198.51.100.${n}`,
      proof: 'tls',
      uptime: 0.5,
      responseMs: 10 - n,
    }),
  ]);
  await pool.store.save(drafts);
  const filter = { status: 'alive' } as const;
  for (const order of ['response_time', 'dependable', 'last_checked'] as const) {
    const { items } = await pool.service.list({
      filter,
      sort: order,
      offset: 0,
      limit: 10,
      uniqueExit: true,
    });
    const text = await exported(pool, { order, uniqueExit: true });
    expect(text.trim().split('\n')).toEqual(items.map(({ ip }) => `http://${ip}:80`));
    expect(items.every(({ ip }) => Number(ip.split('.')[3]) < 7)).toBe(true);
  }
});

test('a proxy that only says that it has the exit of another one does not displace it', async () => {
  const pool = await openPool();
  const now = pool.clock.now();
  const exitIp = '198.51.100.1';
  await pool.store.save([
    draft('http://192.0.2.1:80', now, { exitIp, uptime: 0.9, proof: 'relayed' }),
    draft('http://192.0.2.2:80', now, { exitIp, uptime: 0.5, proof: 'tls' }),
  ]);
  const query = { filter: {}, sort: 'dependable', offset: 0, limit: 10, uniqueExit: true } as const;
  const { items } = await pool.service.list(query);
  expect(items.map(({ ip }) => ip)).toEqual(['192.0.2.1', '192.0.2.2']);
});

async function exported(
  pool: Awaited<ReturnType<typeof createPool>>,
  query: Partial<ExportQuery>,
): Promise<string> {
  const all = { offset: 0, limit: Infinity, remoteDns: false, uniqueExit: false, logins: false } as const;
  const pieces = pool.service.export({
    filter: {},
    order: 'dependable',
    format: 'standard',
    ...all,
    ...query,
  });
  return (await Array.fromAsync(pieces)).join('');
}
