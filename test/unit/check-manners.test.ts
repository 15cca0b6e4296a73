import { describe, expect, test } from 'bun:test';
import { createRate } from '../../src/proxy/check/judges.ts';
import { AskFault, createPoliteness, createRemote, createStanding } from '../../src/proxy/check/remote.ts';

let now = 0;
const monotonic = () => now;

describe('direct requests to one host', () => {
  test('are five seconds apart', () => {
    const politeness = createPoliteness(() => 5000, monotonic);
    expect(politeness.waitMs()).toBeLessThanOrEqual(0);
    politeness.began();
    politeness.answered();
    now += 4000;
    expect(politeness.waitMs()).toBe(1000);
    now += 1000;
    expect(politeness.waitMs()).toBe(0);
  });

  test('become rarer while it fails, and normal once it responds', () => {
    const politeness = createPoliteness(() => 5000, monotonic);
    const waits = Array.from({ length: 6 }, () => {
      politeness.began();
      politeness.failed(null);
      return politeness.waitMs();
    });
    expect(waits).toEqual([5000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    now += 60_000;
    politeness.began();
    politeness.answered();
    politeness.began();
    politeness.failed(null);
    expect(politeness.waitMs()).toBe(5000);
  });

  test('wait as long as it asks', () => {
    const politeness = createPoliteness(() => 5000, monotonic);
    politeness.began();
    politeness.failed(120_000);
    expect(politeness.waitMs()).toBe(120_000);
  });
});

test('nobody waits for the hour that a host asks for while a question to it runs', async () => {
  const answer = Promise.withResolvers<string>();
  const remote = createRemote({
    ...{ kind: 'judge', url: 'http://127.0.0.1/', allowPrivate: true, resolve: async () => [] },
    ...{ question: () => answer.promise, watch: () => () => false, now: monotonic, monotonic, log() {} },
  });
  const first = remote.ask();
  while (remote.askedAt < now) await Bun.sleep(0);
  const second = remote.ask();
  answer.reject(new AskFault('answered with status 429', 3_600_000));
  await Promise.all([first, second]);
  expect([remote.isBusy(), remote.waitMs()]).toEqual([false, 3_600_000]);
});

describe('a host that refuses what others accept', () => {
  const createWatched = () => {
    const pauses: number[] = [];
    return { pauses, standing: createStanding(monotonic, (forMs) => pauses.push(forMs)) };
  };

  test('is left out, longer each time that it keeps refusing', () => {
    const { pauses, standing } = createWatched();
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 4; n++) standing.overruled();
      expect(standing.isLeftOut()).toBe(false);
      standing.overruled();
      expect(standing.isLeftOut()).toBe(true);
      now += pauses.at(-1) ?? 0;
      expect(standing.isLeftOut()).toBe(false);
    }
    expect(pauses).toEqual([600_000, 1_200_000, 2_400_000]);
  });

  test('is kept while it accepts more than it refuses', () => {
    const { standing } = createWatched();
    for (let n = 0; n < 1000; n++) {
      standing.accepted();
      standing.accepted();
      standing.overruled();
    }
    expect(standing.isLeftOut()).toBe(false);
  });

  test('is soon left out, however well it did before', () => {
    const { standing } = createWatched();
    for (let n = 0; n < 100_000; n++) standing.accepted();
    let refused = 0;
    while (!standing.isLeftOut()) {
      standing.overruled();
      refused++;
    }
    expect(refused).toBeLessThan(150);
  });
});

test('a host that has done enough is given a rest', () => {
  const rate = createRate(10, monotonic);
  for (let n = 0; n < 99; n++) rate.spend();
  expect(rate.waitMs()).toBeLessThanOrEqual(0);
  for (let n = 0; n < 21; n++) rate.spend();
  expect(rate.waitMs()).toBe(2000);
  now += 2000;
  expect(rate.waitMs()).toBe(0);
});
