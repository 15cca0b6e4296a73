import assert from 'node:assert/strict';
import type { StateStore } from '../../src/lib/state.ts';
import { type Open, storeTest, type Test } from '../support/runner.ts';

/** Every promise of `StateStore`. */
export function stateStoreConformance(runner: Test, open: Open<StateStore>): void {
  const test = storeTest(runner, open);

  test('a missing value is null', async (store) => {
    assert.equal(await store.get('nothing'), null);
  });

  test('a value reads back unchanged', async (store) => {
    for (const value of ['', 'plain', '{"a":[1,2]}', 'Größe 猫 🐈 \n\t"\'%_', 'x'.repeat(100_000)]) {
      await store.set('key', value);
      assert.equal(await store.get('key'), value);
    }
  });

  test('keys differ by letter case and special characters', async (store) => {
    const keys = ['a', 'A', 'a:b', 'a/b', 'a*', 'a b', 'ä', ''];
    for (const key of keys) await store.set(key, `value of ${key}`);
    for (const key of keys) assert.equal(await store.get(key), `value of ${key}`);
  });

  test('a removed value is gone, and can be removed and set again', async (store) => {
    await store.set('key', 'value');
    for (let count = 0; count < 2; count++) await store.remove('key');
    assert.equal(await store.get('key'), null);
    assert.deepEqual(await store.keys(), []);
    assert.equal(await store.getOrSet('key', 'other'), 'other');
  });

  test('nothing is left of a value that the holder of a lease has set, and that was removed', async (store) => {
    await store.setFenced('case', 'value', 1_763_000_000_000_000);
    await store.remove('case');
    assert.equal(await store.get('case'), null);
    assert.equal(await store.setFenced('case', 'another', 1), true);
  });

  test('a removal of a holder that comes late removes nothing of its successor', async (store) => {
    const [old, young] = [1_763_000_000_000_000, 1_763_000_000_000_001];
    await store.setFenced('case', 'value', young);
    await store.remove('case', old);
    assert.equal(await store.get('case'), 'value');
    await store.remove('case', young);
    assert.equal(await store.get('case'), null);
    await store.set('plain', 'value');
    await store.remove('plain', old);
    assert.equal(await store.get('plain'), null);
  });

  test('all names are listed', async (store) => {
    assert.deepEqual(await store.keys(), []);
    for (const key of ['a', 'A', 'a:b', '']) await store.set(key, 'value');
    await store.set('a', 'other');
    await store.getOrSet('secret', 'value');
    await store.setFenced('job', 'value', 1);
    assert.deepEqual((await store.keys()).sort(), ['', 'A', 'a', 'a:b', 'job', 'secret']);
  });

  test('getOrSet sets a missing value, and returns the current one', async (store) => {
    assert.equal(await store.getOrSet('secret', 'first'), 'first');
    assert.equal(await store.getOrSet('secret', 'second'), 'first');
    assert.equal(await store.get('secret'), 'first');
  });

  test('getOrSet does not replace an empty value', async (store) => {
    await store.set('empty', '');
    assert.equal(await store.getOrSet('empty', 'other'), '');
  });

  test('the larger token overwrites, and is never overwritten by a smaller one', async (store) => {
    const [old, young] = [1_763_000_000_000_000, 1_763_000_000_000_001];
    assert.equal(await store.setFenced('job', 'of the old', old), true);
    assert.equal(await store.setFenced('job', 'of the old again', old), true);
    assert.equal(await store.setFenced('job', 'of the young', young), true);
    assert.equal(await store.setFenced('job', 'too late', old), false);
    assert.equal(await store.get('job'), 'of the young');
    assert.equal(await store.setFenced('another job', 'of the old', old), true);
  });

  test('one of many concurrent getOrSet calls wins, and all return its value', async (store) => {
    const offers = Array.from({ length: 50 }, (_, index) => `offer ${index}`);
    const answers = await Promise.all(offers.map((offer) => store.getOrSet('race', offer)));
    assert.equal(new Set(answers).size, 1);
    assert.equal(await store.get('race'), answers[0]);
    assert.ok(offers.includes(answers[0] ?? ''));
  });
}
