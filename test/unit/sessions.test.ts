import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import { createSessions, SESSION_MS } from '../../src/access/sessions.ts';
import { createTokens } from '../../src/access/tokens.ts';
import { memoryDatabase } from '../support/stores/memory.ts';

const ADMIN_TOKEN = 'the-token-of-the-administrator';

/** Sessions over a database in memory. `now`: ms since 1970. */
async function world(now: () => number) {
  const state = createSqliteState(await memoryDatabase());
  const tokens = createTokens({ state, random: randomBytes, now });
  const used: string[] = [];
  const holders = {
    demandCalm() {},
    countWrong: async () => {},
    charge: async ({ name }: { name: string }) => void used.push(name),
  };
  const start = (adminToken = ADMIN_TOKEN) =>
    createSessions({ state, tokens, holders, adminToken, random: randomBytes, now });
  return { state, tokens, used, start };
}

const asking = (value: string) =>
  new Request('http://img.example/admin', { headers: { cookie: `picpool_admin=${value}` } });

test('a session ends after 12 hours, also by a clock that was ahead, with a new ADMIN_TOKEN, and everywhere', async () => {
  const clock = { ms: 1_700_000_000_000 };
  const { start } = await world(() => clock.ms);
  const sessions = start();
  const login = async () => asking(await sessions.open(ADMIN_TOKEN, '192.0.2.1'));
  const one = await login();
  clock.ms += SESSION_MS - 1;
  expect(await sessions.of(one)).toMatchObject({ role: 'admin', name: 'administrator' });
  expect(await start('another-token-of-the-administrator').of(one)).toBeNull();
  clock.ms += 1;
  expect(await sessions.of(one)).toBeNull();
  clock.ms += 3650 * 86_400_000;
  const ahead = await login();
  clock.ms -= 3650 * 86_400_000;
  expect(await sessions.of(ahead)).toBeNull();
  const now = await sessions.of(await login());
  if (now) await sessions.close(now, true);
  clock.ms += 3650 * 86_400_000;
  expect(await sessions.of(ahead)).toBeNull();
});

test('logins without end only end sessions of the same token, and each login counts as a use', async () => {
  let ms = 1_700_000_000_000;
  const { state, tokens, used, start } = await world(() => ms++);
  const sessions = start();
  const mod = await tokens.create({ name: 'mod', role: 'moderator', rate: null, quota: null });
  const admin = await sessions.open(ADMIN_TOKEN, '192.0.2.1');
  let last = '';
  for (let number = 0; number < 600; number++) last = await sessions.open(mod, '192.0.2.2');
  const again = await sessions.open(ADMIN_TOKEN, '192.0.2.1');
  for (const value of [admin, last, again]) expect(await sessions.of(asking(value))).not.toBeNull();
  expect((await state.keys()).filter((key) => key.startsWith('session ')).length).toBeLessThanOrEqual(500);
  expect(used).toEqual(Array(600).fill('mod'));
});
