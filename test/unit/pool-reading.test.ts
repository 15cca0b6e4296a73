import { expect, test } from 'bun:test';
import { createPool, draft } from '../support/pool/pool.ts';

test('a list is read from its end, page by page, without a gap or a repetition', async () => {
  const pool = await createPool();
  const now = pool.clock.now();
  const drafts = Array.from({ length: 7 }, (_, index) =>
    draft(`http://192.0.2.${index + 1}:80`, now, { responseMs: 10 * (index + 1) }),
  );
  await pool.store.save(drafts);
  const page = async (offset: number) => {
    const { items, total } = await pool.service.list({
      filter: { status: 'alive' },
      sort: 'response_time',
      reverse: true,
      offset,
      limit: 3,
    });
    expect(total).toBe(7);
    return items.map(({ responseMs }) => responseMs);
  };
  expect(await page(0)).toEqual([70, 60, 50]);
  expect(await page(3)).toEqual([40, 30, 20]);
  expect(await page(6)).toEqual([10]);
  expect(await page(9)).toEqual([]);
  await pool.close();
});
