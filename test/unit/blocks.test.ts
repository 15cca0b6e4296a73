import { expect, test } from 'bun:test';
import { openDatabase } from '../../adapters/sqlite/database.ts';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import { createBlocks } from '../../src/moderation/blocks.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';

test('blocks are not overwritten by a copy of the server that has lost the lock meanwhile', async () => {
  const database = await openDatabase(bunRuntime.openSqlite, ':memory:');
  const state = createSqliteState(database);
  const held = new AbortController();
  const lease = { token: 1, lost: held.signal, release: async () => {} };
  const parts = { locks: { acquire: async () => lease }, now: () => 0 };
  const elsewhere = createBlocks({ ...parts, state });
  const slow = createBlocks({
    ...parts,
    state: {
      ...state,
      async get(key) {
        const text = await state.get(key);
        await elsewhere.add({ network: '192.0.2.0/24' }, '');
        held.abort();
        return text;
      },
    },
  });
  await expect(slow.add({ hash: 'a'.repeat(64) }, '')).rejects.toMatchObject({ code: 'conflict' });
  expect((await elsewhere.list()).networks).toMatchObject([{ network: '192.0.2.0/24' }]);
  expect(await state.get('blocks')).toContain('192.0.2.0/24');
  database.close();
});
