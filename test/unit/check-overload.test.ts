import { expect, test } from 'bun:test';
import { createOverload } from '../../src/proxy/check/overload.ts';

const turn = () => new Promise((done) => setTimeout(done, 0));

test('lost time is reported only to work that was running then', async () => {
  let now = 0;
  const overload = createOverload({ timeoutMs: 1000, monotonic: () => now, cpuMs: () => 0 });
  await overload.enter();
  const before = overload.watch();
  now += 250;
  const after = overload.watch();
  expect([before(), after()]).toEqual([true, false]);
  await turn();
  expect([before(), after()]).toEqual([true, false]);
  overload.leave();
});

test('fewer run at once while time is lost, and more again afterwards', async () => {
  let now = 0;
  const overload = createOverload({ timeoutMs: 1000, monotonic: () => now, cpuMs: () => 0 });
  for (let n = 0; n < 100; n++) await overload.enter();
  overload.shrink();
  expect(overload.limit).toBe(70);
  // Within a second it counts once.
  overload.shrink();
  expect(overload.limit).toBe(70);
  let entered = false;
  const waiting = overload.enter()?.then(() => {
    entered = true;
  });
  for (let n = 0; n < 30; n++) overload.leave();
  await turn();
  expect(entered).toBe(false);
  overload.leave();
  await waiting;
  expect(entered).toBe(true);
  for (let n = 0; n < 20; n++) {
    now += 1000;
    overload.shrink();
  }
  expect(overload.limit).toBe(64);
  for (let n = 0; n < 70; n++) overload.leave();
});
