import { expect, test } from 'bun:test';
import { Handshake } from '../../src/gateway/handshake.ts';
import type { EndedBy } from '../../src/gateway/relay.ts';

/** Plays steps such as `down 900 wait 50 ended client`, with a look after each wait. Returns what was said about the upstream. */
function said(greeted: boolean, steps: string): string {
  const told: string[] = [];
  let now = 0;
  const handshake = new Handshake({
    greeted,
    now,
    onProven: () => told.push('proven'),
    onFailed: (why) => told.push(why),
  });
  for (const [, what, value = ''] of steps.matchAll(/(\w+) (\w+)/g)) {
    if (what === 'wait') {
      now += Number(value);
      if (handshake.look(now, 10_000)) told.push('stuck');
    } else if (what === 'ended') handshake.ended(value as EndedBy, now);
    else handshake.moved(what as 'up' | 'down', Number(value), now);
  }
  return told.join(' ');
}

test.each([
  [
    'bytes after those of the client prove it, once',
    'down 900 up 64 down 100 up 300 down 9 ended upstream',
    'proven',
  ],
  ['bytes before those of the client prove nothing', 'down 4000 down 4000 ended upstream', 'distrusted'],
  [
    'what the client sends before any answer proves nothing',
    'up 500 down 900 down 100 ended upstream',
    'distrusted',
  ],
  ['an alert of the client proves nothing', 'down 4000 up 30 down 30 ended client', 'distrusted'],
  [
    'an end before the client went on counts against it, however late',
    'wait 4000 ended upstream',
    'distrusted',
  ],
  ['an end after the client went on counts less', 'down 900 up 64 ended upstream', 'closed'],
  [
    'silence counts against it once while the client still waits, and more once the client gives up',
    'down 900 wait 5000 wait 5000 ended client',
    'timeout stuck distrusted',
  ],
  ['a slow target has more time', 'down 900 up 64 wait 10000 down 100', 'proven'],
  ['a client that leaves a slow target says nothing', 'down 900 up 64 wait 10000 ended client', ''],
  ['a client that leaves at once without a word says nothing', 'down 900 wait 900 ended client', ''],
  [
    'a client that has waited and leaves without a word counts against it',
    'down 900 wait 1000 ended client',
    'distrusted',
  ],
  ['a quota that is used up says nothing', 'down 900 ended limit', ''],
  ['what failed may still be proven', 'wait 5000 down 900 up 64 down 100', 'timeout proven'],
])('in a TLS handshake, %s', (_name, steps, outcome) => {
  expect(said(true, steps)).toBe(outcome);
});

test.each([
  ['a first answer proves nothing', 'up 500 down 90 ended client', ''],
  ['an end without any byte counts against it', 'up 500 ended upstream', 'closed'],
  ['a silent server does not', 'wait 60000 ended client', ''],
  ['an exchange proves it', 'down 40 up 500 down 500', 'proven'],
])('in an unknown protocol, %s', (_name, steps, outcome) => {
  expect(said(false, steps)).toBe(outcome);
});
