import { expect, spyOn, test } from 'bun:test';
import { createRetry, unavailable } from '../../adapters/server-errors.ts';

test('no attempt begins so late that the call could take more than 5 s', async () => {
  const random = spyOn(Math, 'random').mockReturnValue(0.999);
  const [begun, times]: [number, number[]] = [performance.now(), []];
  const call = createRetry(1000, { classify: () => 'refused', failure: unavailable })('never', async () => {
    times.push(performance.now() - begun);
    throw new Error('still starting');
  });
  await expect(call.finally(() => random.mockRestore())).rejects.toMatchObject({ code: 'unavailable' });
  expect(times.at(-1)).toBeWithin(900, 1700);
});
