import { beforeEach, expect, test } from 'bun:test';
import { createLocalLocks } from '../../adapters/local/locks.ts';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import type { StateStore } from '../../src/lib/state.ts';
import { createBlocks } from '../../src/moderation/blocks.ts';
import { memoryDatabase } from '../support/stores/memory.ts';

let state: StateStore;
let parts: Parameters<typeof createBlocks>[0];
beforeEach(async () => {
  state = createSqliteState(await memoryDatabase());
  parts = { state, locks: createLocalLocks(), now: () => 0 };
});

test('a block of a network is lifted by any spelling of it', async () => {
  const blocks = createBlocks(parts);
  for (const [written, other] of [
    ['2001:DB8:0::/32', '2001:db8::/32'],
    ['192.0.2.1', '::ffff:192.0.2.1'],
    ['192.0.2.0/24', '::ffff:192.0.2.0/120'],
  ]) {
    await blocks.add({ network: written }, '');
    await blocks.add({ network: other }, 'once');
    expect((await blocks.list()).networks).toHaveLength(1);
    expect(await blocks.remove({ network: written })).toBe(true);
    expect((await blocks.list()).networks).toEqual([]);
  }
});

test('a list that has not changed is read again without being prepared again', async () => {
  let now = 0;
  const [blocks, other] = [createBlocks({ ...parts, now: () => now }), createBlocks(parts)];
  await other.add({ network: '192.0.2.1' }, '');
  const before = await blocks.list();
  now += 60_000;
  expect(await blocks.list()).toBe(before);
  await other.add({ network: '192.0.2.2' }, '');
  now += 60_000;
  await expect(blocks.mayWrite('192.0.2.2')).rejects.toThrow('blocked');
});

test('blocks that come at once are all kept', async () => {
  const copies = [createBlocks(parts), createBlocks(parts)];
  await Promise.all(copies.map((blocks, number) => blocks.add({ network: `192.0.2.${number}` }, '')));
  expect(JSON.parse((await parts.state.get('blocks')) ?? '').networks).toHaveLength(2);
});

test('a block is not undone by an earlier change that the store carries out late', async () => {
  let late: (() => Promise<boolean>) | undefined;
  const blocks = createBlocks({
    ...parts,
    state: {
      ...state,
      setFenced(...args) {
        if (late) return state.setFenced(...args);
        late = () => state.setFenced(...args);
        return Promise.reject(new Error('no answer'));
      },
    },
  });
  await expect(blocks.add({ network: '192.0.2.1' }, '')).rejects.toThrow('no answer');
  await blocks.add({ network: '198.51.100.0/24' }, '');
  expect(await late?.()).toBe(false);
  expect(await state.get('blocks')).toContain('198.51.100.0/24');
});

test('blocks are not overwritten by a copy of the server that has lost the lock meanwhile', async () => {
  const held = new AbortController();
  const lease = { token: 1, lost: held.signal, release: async () => {} };
  const lost = { ...parts, locks: { acquire: async () => lease } };
  const elsewhere = createBlocks(lost);
  const slow = createBlocks({
    ...lost,
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
  await expect(slow.add({ hash: 'a'.repeat(64) }, '')).rejects.toMatchObject({ code: 'unavailable' });
  expect((await elsewhere.list()).networks).toMatchObject([{ network: '192.0.2.0/24' }]);
  expect(await state.get('blocks')).toContain('192.0.2.0/24');
});
