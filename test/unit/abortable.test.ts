import { expect, test } from 'bun:test';
import { createAbortable } from '../../src/lib/abortable.ts';

test('a waiter gets the value, or the reason for the abort', async () => {
  const { wait, stop } = createAbortable();
  expect(await wait(Promise.resolve(1))).toBe(1);
  await expect(wait(Promise.reject(new Error('own')))).rejects.toThrow('own');
  const waiting = wait(new Promise(() => {}));
  stop(new Error('first'));
  stop(new Error('second'));
  await expect(waiting).rejects.toThrow('first');
  await expect(wait(new Promise(() => {}))).rejects.toThrow('first');
});

test('a value is not retained while the signal lives on', async () => {
  const { wait, stop } = createAbortable();
  const seen: WeakRef<Uint8Array>[] = [];
  for (let piece = 0; piece < 200; piece++) {
    seen.push(new WeakRef(await wait(Promise.resolve(new Uint8Array(1024)))));
  }
  // A weak reference holds until the turn of the event loop ends.
  await new Promise(setImmediate);
  Bun.gc(true);
  const kept = seen.filter((one) => one.deref()).length;
  stop(new Error('the end'));
  expect(kept).toBeLessThan(50);
});
