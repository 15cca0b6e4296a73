import { expect, test } from 'bun:test';
import { setImmediate } from 'node:timers/promises';
import { createAdmissionQueue } from '../../src/http/admission-queue.ts';
import { createMetrics } from '../../src/lib/metrics.ts';

/** Requests that ask for their turn at once, and the order in which they began. */
function ask(turns: ReturnType<typeof createAdmissionQueue>, count: number) {
  const begun: number[] = [];
  const all = Array.from({ length: count }, async (_, number) => {
    await turns.next();
    begun.push(number);
  });
  return { begun, settled: Promise.allSettled(all) };
}

test('a few requests begin at once, and as many in each turn of the event loop, in order', async () => {
  const { begun } = ask(createAdmissionQueue(), 10);
  const counts: number[] = [];
  for (let turn = 0; turn < 4; turn++) {
    await Promise.resolve();
    counts.push(begun.length);
    await setImmediate();
  }
  expect(counts).toEqual([4, 8, 10, 10]);
  expect(begun).toEqual([...Array(10).keys()]);
});

test('later requests do not overtake waiting ones', async () => {
  const turns = createAdmissionQueue();
  const { begun, settled } = ask(turns, 9);
  await setImmediate();
  const late = turns.next().then(() => begun.push(99));
  await Promise.all([settled, late]);
  expect(begun).toEqual([...Array(9).keys(), 99]);
});

test('when too many wait, more are refused, counted, and told when to retry', async () => {
  const metrics = createMetrics();
  const turns = createAdmissionQueue(metrics);
  const { begun, settled } = ask(turns, 2006);
  const reading = async (name: string) =>
    (await metrics.collect()).find((family) => family.name === name)?.samples[0]?.value;
  expect(await reading('picpool_http_waiting')).toBe(2000);
  expect(await reading('picpool_http_overloaded_total')).toBe(2);
  const outcomes = await settled;
  expect(begun).toEqual([...Array(2004).keys()]);
  expect(outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))).toMatchObject([
    { code: 'unavailable', retryAfterMs: 1000 },
    { code: 'unavailable', retryAfterMs: 1000 },
  ]);
});
