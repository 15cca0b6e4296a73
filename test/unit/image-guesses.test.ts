import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { createLocalRateLimiter } from '../../adapters/local/rate-limiter.ts';
import { createGuessLimits } from '../../src/image/access/guess-limits.ts';
import { createPasswordGuard } from '../../src/image/access/password-guard.ts';
import type { ImageRecord } from '../../src/image/image.ts';
import { breathe } from '../../src/lib/schedule.ts';
import { createFakeClock } from '../support/fake-clock.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const image = { id: 'abcDEF123456', passwordHash: 'hash of secret' } as ImageRecord;

/** A guard on a clock of its own, and how many passwords it has compared. */
function createGuard() {
  const clock = createFakeClock(undefined, 4);
  const compared = { right: 0, wrong: 0 };
  const guard = createPasswordGuard({
    hasher: {
      hash: async (password) => `hash of ${password}`,
      verify: async (password, encoded) => {
        await breathe();
        const right = encoded === `hash of ${password}`;
        compared[right ? 'right' : 'wrong']++;
        return right;
      },
    },
    cookies: { opener: (header) => () => header === 'valid' },
    guesses: createGuessLimits(createLocalRateLimiter({ now: clock.now }), clock.sleep),
    random: randomBytes,
    now: clock.now,
  });
  /** The result of a visit with this password, or without one. */
  const visit = (
    password: string | null,
    peer: string,
    { of = image, cookie = null as string | null } = {},
  ) =>
    guard.open(of, { password, cookie }, peer).then(
      ({ byPassword }) => (byPassword ? 'open by password' : 'open'),
      (error) => String(error.code),
    );
  /** Uses up what the image has, from 20 networks. */
  const flood = async () => {
    for (let count = 0; count < 200; count++) await visit(`guess ${count}`, `10.0.${count % 20}.${count}`);
    expect(compared.wrong).toBeGreaterThanOrEqual(100);
  };
  return { clock, compared, visit, flood };
}

/** The outcomes of so many visits, one after the other. */
async function times(count: number, visit: (turn: number) => Promise<string>): Promise<string[]> {
  const outcomes = [];
  for (let turn = 0; turn < count; turn++) outcomes.push(await visit(turn));
  return outcomes;
}

const tally = (outcomes: string[], code: string) => outcomes.filter((outcome) => outcome === code).length;

describe('the lock of an image', () => {
  test('lets everyone see a public image, and cookie holders a protected one', async () => {
    const { visit } = createGuard();
    expect(await visit(null, '192.0.2.1', { of: { ...image, passwordHash: null } })).toBe('open');
    expect(await visit(null, '192.0.2.1', { cookie: 'valid' })).toBe('open');
  });

  test('does not charge visits without a password or with the right one', async () => {
    const { visit } = createGuard();
    expect(tally(await times(50, () => visit(null, '192.0.2.1')), 'password_required')).toBe(50);
    const right = await times(50, (turn) => visit('secret', `192.0.2.${turn}`));
    expect(tally(right, 'open by password')).toBe(50);
    expect(tally(await times(10, () => visit('guess', '192.0.2.1')), 'wrong_password')).toBe(10);
  });

  test('verifies a correct password once in five minutes', async () => {
    const { visit, compared, clock } = createGuard();
    await times(50, () => visit('secret', '192.0.2.1'));
    expect(compared.right).toBe(1);
    await clock.advance(5 * MINUTE);
    await visit('secret', '192.0.2.1');
    expect(compared.right).toBe(2);
  });

  test('remembers a password for the client that entered it, until it enters another', async () => {
    const { visit, compared } = createGuard();
    await visit('secret', '192.0.2.1');
    await visit('secret', '198.51.100.1');
    expect(compared.right).toBe(2);
    await times(30, () => visit('guess', '192.0.2.1'));
    expect(await visit('secret', '192.0.2.1')).toBe('rate_limited');
    expect(await visit('secret', '198.51.100.1')).toBe('open by password');
  });

  test.each([
    ['a /24', (turn: number) => `192.0.2.${turn}`, '192.0.3.1'],
    ['a /56', (turn: number) => `2001:db8:1:2${turn % 8}::1`, '2001:db8:2::1'],
    ['a /48', (turn: number) => `2001:db8:1:${turn + 1}00::1`, '2001:db8:2::1'],
  ])('takes ten wrong passwords from %s, and then one every ten seconds', async (_name, peer, other) => {
    const { visit, clock } = createGuard();
    const outcomes = await times(15, (turn) => visit('guess', peer(turn)));
    expect(tally(outcomes, 'wrong_password')).toBe(10);
    expect(outcomes.at(-1)).toBe('rate_limited');
    expect(await visit('guess', other)).toBe('wrong_password');
    await clock.advance(10 * SECOND);
    expect(await visit('guess', peer(1))).toBe('wrong_password');
    expect(await visit('guess', peer(1))).toBe('rate_limited');
  });

  test('allows no more of them when they come at once', async () => {
    const { visit, compared } = createGuard();
    await Promise.all(Array.from({ length: 100 }, (_, turn) => visit('guess', `192.0.2.${turn}`)));
    expect(compared.wrong).toBe(10);
    const { visit: another, compared: total } = createGuard();
    const peers = Array.from({ length: 300 }, (_, turn) => `10.${turn % 30}.0.${turn >> 1}`);
    for (const peer of peers) void another('guess', peer);
    for (let turn = 0; turn < 100; turn++) await breathe();
    expect(total.wrong).toBe(100);
  });

  test('allows thirty a minute from one network for all images', async () => {
    const { visit } = createGuard();
    const outcomes = await times(40, (turn) =>
      visit('guess', '192.0.2.1', { of: { ...image, id: `image${turn}` } }),
    );
    expect(tally(outcomes, 'wrong_password')).toBe(30);
  });
});

describe('an image that strangers guess at', () => {
  test('has no tries left for the networks that guess, and three for every other network', async () => {
    const { visit, flood, clock } = createGuard();
    await flood();
    expect(await visit('secret', '10.0.3.99')).toBe('rate_limited');
    const outcomes = times(5, () => visit('guess', '192.0.2.1'));
    await clock.advance(MINUTE);
    expect(await outcomes).toEqual([...Array(3).fill('wrong_password'), ...Array(2).fill('rate_limited')]);
    expect(await visit('guess', '10.0.3.99', { of: { ...image, id: 'zzzDEF123456' } })).toBe(
      'wrong_password',
    );
  });

  test('delays tries more the more there were, up to three seconds', async () => {
    const { visit, flood, clock } = createGuard();
    await flood();
    const waits: number[] = [];
    for (let turn = 0; turn < 80; turn++) {
      const from = clock.now();
      let done = 0;
      const outcome = visit('guess', `172.16.${turn}.1`).finally(() => (done = clock.now()));
      await clock.advance(4 * SECOND);
      expect(await outcome).toBe('wrong_password');
      waits.push(done - from);
    }
    expect(waits[0]).toBe(0);
    expect(waits[20]).toBeGreaterThan(waits[10] ?? 0);
    expect(waits[70]).toBeGreaterThan(2 * SECOND);
    expect(Math.max(...waits)).toBeLessThanOrEqual(3 * SECOND);
  });

  test('keeps a bounded number of tries waiting', async () => {
    const { visit, flood, clock } = createGuard();
    await flood();
    const first = visit('guess', '172.16.0.1');
    await clock.advance(MINUTE);
    await first;
    for (let turn = 0; turn < 20; turn++) {
      const wrong = visit('guess', `172.17.${turn}.1`);
      await clock.advance(4 * SECOND);
      await wrong;
    }
    const many = Array.from({ length: 300 }, (_, turn) =>
      visit('guess', `10.${turn >> 7}.${100 + (turn & 127)}.1`),
    );
    await clock.advance(4 * SECOND);
    const outcomes = await Promise.all(many);
    expect(tally(outcomes, 'busy')).toBe(300 - 256);
  });
});

test('in 24 hours 1,000 addresses of 40 networks try fewer than 2,000 passwords, and the right one works within 10 s', async () => {
  const { visit, clock, compared } = createGuard();
  const addressOf = (turn: number) => `10.0.${turn % 40}.${Math.floor(turn / 40) % 25}`;
  let guesses = 0;
  let guests = 0;
  let slowest = 0;
  const guess = (count: number) => {
    for (let turn = 0; turn < count; turn++) void visit(`guess ${guesses}`, addressOf(guesses++));
  };
  /** Comes from a network of its own and mistypes so often before. */
  const guest = async (typos: number) => {
    const peer = `172.${16 + (guests >> 8)}.${guests++ & 255}.7`;
    const from = clock.now();
    for (let typo = 0; typo < typos; typo++) expect(await visit(`typo ${typo}`, peer)).toBe('wrong_password');
    expect(await visit('secret', peer)).toBe('open by password');
    slowest = Math.max(slowest, clock.now() - from);
  };

  const end = clock.now() + 24 * HOUR;
  const visits: Promise<void>[] = [];
  guess(1000);
  for (let step = 0; clock.now() < end; step++) {
    guess(10);
    if (step % 60 === 0) visits.push(guest(0));
    if (step % 360 === 5) visits.push(guest(2));
    await clock.advance(10 * SECOND);
  }
  await Promise.all(visits);
  const typos = 24 * 2;
  expect(guesses).toBeGreaterThan(87_000);
  expect(guests).toBe(24 * 7);
  expect(compared.wrong - typos).toBeLessThan(2000);
  expect(compared.wrong - typos).toBeGreaterThan(1000);
  expect(slowest).toBeLessThanOrEqual(10 * SECOND);
});
