import { expect, test } from 'bun:test';
import { createReadsElsewhere } from '../../adapters/postgres/read-elsewhere.ts';

/** Both servers at these positions, and a clock. */
function reads() {
  const at = { ms: 0, primary: { line: 1, place: '0/9000' }, replica: { line: 1, place: '0/9000' } };
  const server = (which: 'primary' | 'replica') => ({ ask: async () => [at[which]] as never[] });
  const elsewhere = createReadsElsewhere(server('primary'), server('replica'), () => at.ms);
  const answer = () => elsewhere.read({ primary: async () => 'primary', replica: async () => 'replica' });
  return { at, elsewhere, answer };
}

test('after a failover, a replica of the old primary answers nothing, although it is further', async () => {
  const { at, elsewhere, answer } = reads();
  expect(await answer()).toBe('replica');
  at.primary = { line: 2, place: '0/7000' };
  elsewhere.wrote();
  expect(await answer()).toBe('primary');
  at.replica = { line: 2, place: '0/6000' };
  expect(await answer()).toBe('primary');
  at.replica = { line: 2, place: '0/7000' };
  expect(await answer()).toBe('replica');
});
