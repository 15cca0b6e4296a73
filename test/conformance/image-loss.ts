import assert from 'node:assert/strict';
import type { ImageStore } from '../../src/image/store.ts';
import { type Open, storeTest, type Test } from '../support/runner.ts';
import { image } from '../support/stores/records.ts';

/** A store, and what takes records from it that nobody has deleted; without ids, all of them. */
export interface LossyImages {
  images: ImageStore;
  lose(...ids: string[]): Promise<unknown>;
}

/** What an `ImageStore` knows of records that were lost, so that no file is removed for want of its record. */
export function imageLossConformance(runner: Test, open: Open<LossyImages>): void {
  const test = storeTest(runner, open);
  const isGrave = (faults: Awaited<ReturnType<ImageStore['faults']>>) =>
    faults.some(({ level }) => level === 'fail');

  test('the loss of all records is known without counting', async ({ images, lose }) => {
    for (const id of ['a', 'b', 'c']) await images.insert(image({ id }));
    assert.deepEqual(await images.knownFaults(), []);
    await lose();
    assert.ok(isGrave(await images.knownFaults()));
    assert.ok(isGrave(await images.faults()));
  });

  test('the loss of some records is found by counting, and then remembered', async ({ images, lose }) => {
    const records = ['a', 'b', 'c'].map((id) => image({ id }));
    for (const record of records) await images.insert(record);
    await lose('b');
    const faults = await images.faults();
    assert.ok(isGrave(faults));
    assert.deepEqual(await images.knownFaults(), faults);
  });

  test('images deleted one by one do not count as lost', async ({ images }) => {
    for (const id of ['a', 'b']) await images.insert(image({ id }));
    for (const id of ['a', 'b']) await images.remove(id);
    assert.deepEqual([await images.knownFaults(), await images.faults()], [[], []]);
  });
}
