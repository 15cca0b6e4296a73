import assert from 'node:assert/strict';
import { type AuditStore, CARRIED_OUT, DONE, OPEN } from '../../src/audit/store.ts';
import { type Open, storeTest, type Test } from '../support/runner.ts';

const entry = (id: string, changes = {}) => ({
  id,
  at: 1_700_000_000_000,
  day: 3,
  subject: `image ${id}`,
  text: '{"what":"image.delete"}',
  ...changes,
});

/** Every promise of `AuditStore`. */
export function auditStoreConformance(runner: Test, open: Open<AuditStore>): void {
  const test = storeTest(runner, open);
  const ids = (entries: readonly { id: string }[]) => entries.map(({ id }) => id);

  test('an entry reads back as appended, whatever its texts are', async (store) => {
    const strange = entry('a', { subject: 'network 2001:db8::/32', text: `"q" 'x' %_\\ <b> 猫 🐈\n[1,2]` });
    await store.append(strange, OPEN);
    assert.deepEqual(await store.list({ limit: 9 }), [{ ...strange, stage: OPEN }]);
    assert.deepEqual(await store.list({ limit: 9, subject: strange.subject }), [{ ...strange, stage: OPEN }]);
    assert.deepEqual(await store.unfinished(9), [{ ...strange, stage: OPEN }]);
  });

  test('an entry about a name with NUL is stored and found, though databases write NUL in another way', async (store) => {
    const strange = entry('a', { subject: 'token a\0b' });
    await store.append(strange, DONE);
    const [found] = await store.list({ limit: 9, subject: strange.subject });
    assert.deepEqual(
      { ...found, subject: found?.subject.replace('\u2400', '\0') },
      { ...strange, stage: DONE },
    );
  });

  test('an entry that is appended again is stored once, as it was, and stays done', async (store) => {
    await store.append(entry('a'), OPEN);
    await store.advance('a', DONE);
    await store.append(entry('a', { text: 'changed', at: 1, day: 9 }), OPEN);
    assert.deepEqual(await store.list({ limit: 9 }), [{ ...entry('a'), stage: DONE }]);
    assert.deepEqual(await store.unfinished(9), []);
  });

  test('a stage only moves on, and unknown entries are ignored', async (store) => {
    await store.append(entry('a'), OPEN);
    await store.advance('a', CARRIED_OUT);
    await store.advance('a', OPEN);
    await store.advance('missing', DONE);
    assert.deepEqual(
      (await store.unfinished(9)).map(({ stage }) => stage),
      [CARRIED_OUT],
    );
    await store.advance('a', DONE);
    await store.advance('a', CARRIED_OUT);
    assert.deepEqual(await store.unfinished(9), []);
  });

  test('the newest come first, ties by ID, page after page', async (store) => {
    for (const [id, at] of [
      ['b', 5],
      ['d', 7],
      ['a', 5],
      ['c', 5],
    ] as const)
      await store.append(entry(id, { at }), DONE);
    const first = await store.list({ limit: 2 });
    assert.deepEqual(ids(first), ['d', 'c']);
    assert.deepEqual(ids(await store.list({ limit: 9, after: 'c' })), ['b', 'a']);
    assert.deepEqual(ids(await store.list({ limit: 9, after: 'a' })), []);
    assert.deepEqual(ids(await store.list({ limit: 9, after: 'missing' })), []);
  });

  test('the entries about a subject are found, and not those about longer ones', async (store) => {
    await store.append(entry('a', { subject: 'image x', at: 1 }), DONE);
    await store.append(entry('b', { subject: 'image x', at: 2 }), DONE);
    await store.append(entry('c', { subject: 'image xy', at: 3 }), DONE);
    assert.deepEqual(ids(await store.list({ limit: 9, subject: 'image x' })), ['b', 'a']);
    assert.deepEqual(ids(await store.list({ limit: 1, subject: 'image x' })), ['b']);
    assert.deepEqual(await store.list({ limit: 9, subject: 'image' }), []);
  });

  test('unfinished entries are returned oldest first, those to carry out before others', async (store) => {
    await store.append(entry('told', { at: 0 }), CARRIED_OUT);
    for (const [id, at] of [
      ['a', 3],
      ['b', 1],
      ['c', 2],
    ] as const)
      await store.append(entry(id, { at }), OPEN);
    assert.deepEqual(ids(await store.unfinished(2)), ['b', 'c']);
  });

  test('earlier days are dropped, except for what is not done', async (store) => {
    for (let number = 0; number < 12; number++)
      await store.append(entry(`a${number}`, { day: number }), number === 2 ? OPEN : DONE);
    assert.equal(await store.drop(10), 9);
    assert.deepEqual(ids(await store.list({ limit: 20 })).sort(), ['a10', 'a11', 'a2']);
    assert.deepEqual(await store.list({ limit: 9, subject: 'image a3' }), []);
    assert.equal(await store.drop(10), 0);
    await store.advance('a2', DONE);
    assert.equal(await store.drop(10), 1);
  });
}
