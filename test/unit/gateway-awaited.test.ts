import { expect, test } from 'bun:test';
import { Awaited } from '../../src/gateway/awaited.ts';

/** What a client got that was content. */
const OTHERS = '250 250 300 35 35 ';

/**
 * Plays what passes from the end of a handshake on: records up and down with their bytes, `h` of a handshake, and seconds.
 * Returns for how many the client has waited when it leaves.
 */
function waited(said: string) {
  const awaited = new Awaited();
  let [now, cameAt] = [0, Number.NEGATIVE_INFINITY];
  for (const [, kind, h, number] of said.matchAll(/([\^v]?)(h?)(\d+)/g)) {
    if (!kind) now += Number(number) * 1_000;
    else {
      const bytes = new Uint8Array(Number(number));
      bytes.set([h ? 22 : 23, 3, 3, (bytes.length - 5) >> 8, bytes.length - 5]);
      if (kind === 'v' && cameAt < 0) awaited.begin(now);
      if (kind === 'v') cameAt = now;
      awaited.moved(kind === 'v' ? 'down' : 'up', bytes, now);
    }
  }
  const ms = (awaited.leftAt ?? now) - awaited.since(cameAt, OTHERS);
  return { waited: Math.max(0, ms / 1_000), records: awaited.records };
}

test.each([
  ['only tickets came', '^186 v255 v255 6', 6],
  ['it was sent after the tickets', '^80 v255 v255 ^200 6', 6],
  ['then for the answer to its alert', '^186 v255 v255 6 ^24 30', 6],
  ['what looked like an alert was none', '^80 v255 v255 ^200 6 ^24 3 ^33 30', 39],
])('a client has waited for the answer to a request: %s', (_, said, seconds) => {
  expect(waited(said).waited).toBe(seconds);
});

test.each([
  ['has opened a connection ahead of any request', '^80 v255 v255 60'],
  ['has shown a certificate and asked for nothing', '^h900 v255 v255 60'],
  ['got as much as others', '^186 v255 v255 v305 v40 v40 60'],
  ['has heard the first events of many', '^186 v255 v255 v305 15 v40 10'],
  ['has said only that it is still there', '^186 v255 v255 2 v305 30 ^33 30'],
])('a client that %s has not waited', (_, said) => {
  expect(waited(said).waited).toBe(0);
});

test('the answer to a second request is not what others lack, however short that request', () => {
  expect(waited('^186 v255 v255 ^35 v305 ^97 v305').records).toBe('250 250 300 ');
});
