import { expect, test } from 'bun:test';
import { readdir } from 'node:fs/promises';
import { openImageReplica } from '../../adapters/sqlite/image-replica.ts';
import { openProxyReplica } from '../../adapters/sqlite/proxy-replica.ts';
import { AppError, inEnglish } from '../../src/errors.ts';
import { createFollower } from '../../src/lib/follower.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { sharedFolder } from '../support/shared.ts';
import { until } from '../support/stores/services.ts';

const folder = await sharedFolder();

/** A follower of a list of words, and what its log and its views do. */
function follow() {
  const words = ['one'];
  const state = { words, opened: 0, closed: 0, fails: null as Error | null };
  const follower = createFollower<Set<string>, string>({
    log: {
      end: async () => String(words.length),
      since: async (place) => ({
        place: String(words.length),
        more: false,
        changes: words.slice(Number(place)),
      }),
    },
    async open() {
      state.opened++;
      return new Set();
    },
    async *scan() {
      yield [...words];
    },
    apply(view, changes) {
      for (const word of changes) {
        if (state.fails && state.opened === 1) throw state.fails;
        view.add(word);
      }
    },
    async close() {
      state.closed++;
    },
    lingerMs: 0,
    late: () => new Error('late'),
  });
  return { state, words, follower };
}

test('a view that the changes do not fit is rebuilt', async () => {
  const { follower, state, words } = follow();
  expect([...(await follower.exact()).view]).toEqual(['one']);
  state.fails = new Error('UNIQUE constraint failed');
  words.push('two');
  expect([...(await follower.exact()).view]).toEqual(['one', 'two']);
  expect([state.opened, follower.lagMs()]).toEqual([2, 0]);
  await until(async () => state.closed === 1);
});

test('a view that cannot be filled is closed', async () => {
  const { follower, state } = follow();
  state.fails = new AppError('storage_full', inEnglish('The disk is full.'));
  await expect(follower.exact()).rejects.toMatchObject({ code: 'storage_full' });
  expect([state.opened, state.closed]).toEqual([1, 1]);
});

test('a view is not rebuilt because its disk is full', async () => {
  const { follower, state, words } = follow();
  await follower.exact();
  state.fails = new AppError('storage_full', inEnglish('The disk is full.'));
  words.push('two');
  await expect(follower.exact()).rejects.toMatchObject({ code: 'storage_full' });
  expect(state.opened).toBe(1);
});

test.each([openImageReplica, openProxyReplica])(
  'a copy of records that is closed before it is filled leaves no file (%#)',
  async (open) => {
    const replica = await open(bunRuntime, folder);
    await replica.close();
    expect(await readdir(folder)).toEqual([]);
  },
);
