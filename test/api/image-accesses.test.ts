import { describe, expect, test } from 'bun:test';
import { openDatabase } from '../../adapters/sqlite/database.ts';
import { createSqliteImages } from '../../adapters/sqlite/images.ts';
import type { RequestContext } from '../../src/http/request-context.ts';
import { createRouter } from '../../src/http/router.ts';
import { imageAccessRoutes } from '../../src/image/access-routes.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { json } from '../support/json.ts';
import { withServer } from '../support/servers/running-server.ts';
import { image } from '../support/stores/records.ts';

const TOKEN = 'a-token-of-the-cache-in-front';
const NOW = 1_800_000_000_000;
const HOUR_MS = 3_600_000;
const headers = { authorization: `Bearer ${TOKEN}` };

test('what a cache has sent is no longer idle, and nothing moves back or beyond now', async () => {
  const database = await openDatabase(bunRuntime.openSqlite, ':memory:');
  const images = createSqliteImages(database);
  const routes = imageAccessRoutes({ images, token: TOKEN, now: () => NOW });
  const router = createRouter(routes, () => Response.error());
  const ids = ['seen00000000', 'early0000000', 'future000000', 'twice0000000', 'silent000000'];
  const lastAccess = NOW - 10 * HOUR_MS;
  for (const id of ids) await images.insert(image({ id, lastAccess }));
  const body = JSON.stringify({
    accesses: [
      { id: 'seen00000000' },
      { id: 'early0000000', at: lastAccess / 1000 - 5 },
      { id: 'future000000', at: NOW / 1000 + 3600 },
      { id: 'twice0000000', at: NOW / 1000 - 60 },
      { id: 'twice0000000', at: NOW / 1000 - 120 },
      { id: 'nobody000000' },
    ],
  });
  const answer = await router.answer(
    new Request('http://localhost/api/accesses', {
      method: 'POST',
      body,
      headers: { ...headers, 'content-type': 'application/json' },
    }),
    {} as RequestContext,
  );
  expect([answer.status, await json(answer)]).toEqual([200, { success: true }]);
  const times = await Promise.all(ids.map(async (id) => (await images.get(id))?.lastAccess));
  expect(times).toEqual([NOW, lastAccess, NOW, NOW - 60_000, lastAccess]);
  const idle = await images.idleSince(NOW - HOUR_MS, 10);
  expect(idle.map(({ id }) => id).sort()).toEqual(['early0000000', 'silent000000']);
  expect(await images.get('nobody000000')).toBeNull();
  database.close();
});

describe('accesses are told', () => {
  test('with the token alone, at most a thousand at once', () =>
    withServer({ SERVICES: 'image', IMAGE_ACCESS_TOKEN: TOKEN }, async ({ post }) => {
      const accesses = (count: number) => ({
        accesses: Array.from({ length: count }, () => ({ id: 'nobody000000' })),
      });
      const statusOf = async (body: object, more: Record<string, string> = headers) =>
        (await post('/api/accesses', body, more)).status;
      expect(await statusOf(accesses(1000))).toBe(200);
      expect(await statusOf({ accesses: [] })).toBe(200);
      expect(await statusOf(accesses(1001))).toBe(400);
      expect(await statusOf({ accesses: [{ id: '../../etc' }] })).toBe(400);
      expect(await statusOf({ accesses: [{ id: 'nobody000000', at: -1 }] })).toBe(400);
      expect(await statusOf({})).toBe(400);
      expect(await statusOf(accesses(1), {})).toBe(401);
      expect(await statusOf(accesses(1), { authorization: `Bearer ${TOKEN}x` })).toBe(401);
    }));

  test('nowhere while there is no token', () =>
    withServer({ SERVICES: 'image' }, async ({ post }) => {
      expect((await post('/api/accesses', { accesses: [] }, headers)).status).toBe(404);
    }));
});
