import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { openDatabase } from '../../adapters/sqlite/database.ts';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import { createSessions, SESSION_MS } from '../../src/access/sessions.ts';
import { createTokens } from '../../src/access/tokens.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';

const ADMIN_TOKEN = 'the-token-of-the-administrator';

test('a session ends after 12 hours, also by a clock that was ahead, and with a new ADMIN_TOKEN', async () => {
  const database = await openDatabase(bunRuntime.openSqlite, ':memory:');
  const state = createSqliteState(database);
  const clock = { ms: 1_700_000_000_000 };
  const now = () => clock.ms;
  const tokens = createTokens({ state, random: randomBytes, now });
  const holders = { demandCalm() {}, countWrong: async () => {}, charge: async () => {} };
  const start = (adminToken: string) =>
    createSessions({ state, tokens, holders, adminToken, random: randomBytes, now });
  const sessions = start(ADMIN_TOKEN);
  const login = async () => {
    const cookie = `picpool_admin=${await sessions.open(ADMIN_TOKEN, '192.0.2.1')}`;
    return new Request('http://img.example/admin', { headers: { cookie } });
  };
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
  database.close();
});

test('logins without end only end sessions of the same token, and each login counts as a use', async () => {
  const database = await openDatabase(bunRuntime.openSqlite, ':memory:');
  const state = createSqliteState(database);
  let ms = 1_700_000_000_000;
  const now = () => ms++;
  const tokens = createTokens({ state, random: randomBytes, now });
  const used: string[] = [];
  const holders = {
    demandCalm() {},
    countWrong: async () => {},
    charge: async ({ name }: { name: string }) => void used.push(name),
  };
  const sessions = createSessions({
    state,
    tokens,
    holders,
    adminToken: ADMIN_TOKEN,
    random: randomBytes,
    now,
  });
  const mod = await tokens.create({ name: 'mod', role: 'moderator', rate: null, quota: null });
  const admin = await sessions.open(ADMIN_TOKEN, '192.0.2.1');
  let last = '';
  for (let number = 0; number < 600; number++) last = await sessions.open(mod, '192.0.2.2');
  const again = await sessions.open(ADMIN_TOKEN, '192.0.2.1');
  for (const value of [admin, last, again]) {
    const headers = { cookie: `picpool_admin=${value}` };
    expect(await sessions.of(new Request('http://img.example/admin', { headers }))).not.toBeNull();
  }
  expect((await state.keys()).filter((key) => key.startsWith('session ')).length).toBeLessThanOrEqual(500);
  expect(used).toEqual(Array(600).fill('mod'));
  database.close();
});
