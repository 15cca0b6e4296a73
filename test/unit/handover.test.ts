import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import type { Call } from '../../src/http/route.ts';
import { handoverRoutes } from '../../src/image/handover.ts';
import { memoryDatabase } from '../support/stores/memory.ts';

const MINUTE_MS = 60_000;

async function start() {
  let now = 1_800_000_000_000;
  const state = createSqliteState(await memoryDatabase());
  const [give, take] = handoverRoutes({ state, clock: { now: () => now }, random: randomBytes });
  type Handle = (call: Call<{ params: { id: string } }>) => Promise<Response>;
  const call = (route: typeof give, body: string | null, payer: string, id: string) =>
    (route as unknown as { handle: Handle }).handle({
      request: new Request('http://img.example/', { method: 'POST', body }),
      context: { payer },
      params: { id },
    } as unknown as Call<{ params: { id: string } }>);
  return {
    state,
    wait(ms: number) {
      now += ms;
    },
    async give(body: string, payer = '192.0.2.1') {
      return (await (await call(give, body, payer, '')).json()) as { id: string };
    },
    take: (id: string) =>
      call(take, null, '192.0.2.9', id)
        .then((answer) => answer.json() as Promise<{ sealed: string }>)
        .then(({ sealed }) => sealed)
        .catch((error) => error.code),
  };
}

test('a sealed list is read once, however many ask at the same time, and leaves nothing behind', async () => {
  const { give, take, state } = await start();
  const { id } = await give('c2VhbGVk');
  const answers = await Promise.all([take(id), take(id), take(id), take('x'.repeat(32)), take('../../x')]);
  expect(answers.filter((one) => one === 'c2VhbGVk')).toHaveLength(1);
  expect(answers.filter((one) => one === 'not_found')).toHaveLength(4);
  expect(await take(id)).toBe('not_found');
  expect(await state.keys()).toEqual([]);
});

test('it is gone after ten minutes, or once the clock has jumped, and is removed', async () => {
  const { give, take, state, wait } = await start();
  const { id } = await give('b2xk');
  wait(10 * MINUTE_MS);
  expect(await take(id)).toBe('not_found');
  expect(await state.keys()).toEqual([]);
  const ahead = await give('YWhlYWQ');
  wait(-60 * MINUTE_MS);
  expect(await take(ahead.id)).toBe('not_found');
});

test('an address keeps three, all together 32, and each is Base64url of at most 256 KiB', async () => {
  const { give, take, state, wait } = await start();
  const codeOf = (given: Promise<unknown>) => given.then(() => 'kept').catch(({ code }) => code);
  const ids: string[] = [];
  for (let index = 0; index < 4; index++) {
    ids.push((await give(`bGlzd${index}`)).id);
    wait(1000);
  }
  expect(await take(ids[0] ?? '')).toBe('not_found');
  expect(await take(ids[1] ?? '')).toBe('bGlzd1');
  // At the same moment.
  await Promise.all(ids.map((_, index) => give(`c2FtZT${index}`)));
  expect((await state.keys()).length).toBe(3);
  // The newest stays, also if the clock has gone back.
  wait(-30_000);
  expect(await take((await give('bmV3')).id)).toBe('bmV3');
  await give('bGlzdA');
  for (let index = 0; index < 29; index++) await give('bGlzdA', `192.0.2.${index + 10}`);
  expect((await state.keys()).length).toBe(32);
  expect(await codeOf(give('bGlzdA', '198.51.100.1'))).toBe('unavailable');
  expect(await codeOf(give('a'.repeat(349_529)))).toBe('too_large');
  expect(await codeOf(give('{"a":1}'))).toBe('invalid_body');
  expect(await codeOf(give(''))).toBe('invalid_body');
});
