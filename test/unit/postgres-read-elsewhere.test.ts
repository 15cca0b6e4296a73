import { expect, test } from 'bun:test';
import { createReadsElsewhere } from '../../adapters/postgres/read-elsewhere.ts';
import { AppError, inEnglish } from '../../src/errors.ts';

const AWAY = () => Promise.reject(new AppError('unavailable', inEnglish('It is away.')));

/** Both servers at these positions, and a clock. */
function reads() {
  const at = { ms: 0, primary: { line: 1, place: '0/9000' }, replica: { line: 1, place: '0/9000' } };
  /** What every question waits for. */
  const there = { primary: Promise.resolve(), replica: Promise.resolve() };
  const primary = { ask: () => there.primary.then(() => [at.primary] as never[]) };
  const replica = { ask: () => there.replica.then(() => [at.replica] as never[]) };
  const elsewhere = createReadsElsewhere(primary, replica, () => at.ms);
  const answer = () => elsewhere.read({ primary: async () => 'primary', replica: async () => 'replica' });
  return { at, there, elsewhere, answer };
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

test('no read waits for a replica that was away, which answers again once it has been heard of', async () => {
  const { at, there, elsewhere, answer } = reads();
  there.replica = AWAY();
  expect(await answer()).toBe('primary');
  const back = Promise.withResolvers<void>();
  there.replica = back.promise;
  for (let read = 0; read < 3; read++) {
    at.ms += 3000;
    elsewhere.wrote();
    expect(await answer()).toBe('primary');
  }
  back.resolve();
  await back.promise;
  await new Promise(setImmediate);
  expect(await answer()).toBe('replica');
});

test('no read waits long for a primary that was away, whose writes are seen again once it answers', async () => {
  const { at, there, answer } = reads();
  there.primary = AWAY();
  expect(await answer()).toBe('replica');
  const back = Promise.withResolvers<void>();
  there.primary = back.promise;
  at.ms += 3000;
  expect(await answer()).toBe('replica');
  back.resolve();
  at.primary = { line: 1, place: '0/9999' };
  at.ms += 3000;
  expect(await answer()).toBe('primary');
  there.primary = new Promise((resolve) => setTimeout(resolve, 400));
  at.ms += 3000;
  expect(await answer()).toBe('primary');
});
