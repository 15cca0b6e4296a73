import { expect, test } from 'bun:test';
import { timedStream } from '../../src/lib/timed-stream.ts';

/** Endless pieces, and what happens to them. */
function source() {
  const events: string[] = [];
  async function* pieces(): AsyncGenerator<Uint8Array, void> {
    try {
      for (;;) yield new Uint8Array(1);
    } finally {
      events.push('returned');
    }
  }
  return { events, pieces: pieces(), onEnd: () => void events.push('ended') };
}

test('a reader that takes nothing is dropped', async () => {
  const { events, pieces, onEnd } = source();
  const reader = timedStream(pieces, { stallMs: 20, lifeMs: 60_000, onEnd }).getReader();
  await reader.read();
  await expect(reader.closed).rejects.toThrow('too slow');
  expect(events).toEqual(['ended', 'returned']);
});

test('a reader that takes too long is dropped while it reads', async () => {
  const { events, pieces, onEnd } = source();
  const reader = timedStream(pieces, { stallMs: 60_000, lifeMs: 40, onEnd }).getReader();
  const reading = (async () => {
    for (;;) {
      await reader.read();
      await Bun.sleep(1);
    }
  })();
  await expect(reading).rejects.toThrow('too slow');
  expect(events.toSorted()).toEqual(['ended', 'returned']);
});

test('a reader that leaves ends the work', async () => {
  const { events, pieces, onEnd } = source();
  const reader = timedStream(pieces, { stallMs: 60_000, lifeMs: 60_000, onEnd }).getReader();
  await reader.read();
  await reader.cancel();
  expect(events).toEqual(['ended', 'returned']);
});

test('errors of the source reach the reader, and it ends once', async () => {
  const events: string[] = [];
  async function* broken(): AsyncGenerator<Uint8Array, void> {
    yield new Uint8Array(1);
    throw new Error('The disk is gone.');
  }
  const onEnd = () => void events.push('ended');
  const stream = timedStream(broken(), { stallMs: 60_000, lifeMs: 60_000, onEnd });
  await expect(new Response(stream).bytes()).rejects.toThrow('The disk is gone.');
  expect(events).toEqual(['ended']);
});
