import { describe, expect, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createLocalRateLimiter } from '../../adapters/local/rate-limiter.ts';
import { countFrames } from '../../src/codec/convert/frames.ts';
import { mayRunBeside } from '../../src/codec/workers/admission.ts';
import { createFairQueue, type Queued } from '../../src/codec/workers/fair-queue.ts';
import { createBudget, createPrices, type Estimate } from '../../src/codec/workers/price.ts';
import { avifSequence } from '../support/images/avif-sequence.ts';
import { gifOfFrames } from '../support/images/hostile-images.ts';
import { animation, privatePhoto } from '../support/images/images.ts';
import { withFolder } from '../support/temporary.ts';

const any = () => true;

function job(client: string, price: number, purpose: Queued['purpose'] = 'upload'): Queued {
  return { client, price, purpose };
}

/** (Σx)² / nΣx²: 1 where all have the same, 1/n where one has all. */
function jain(shares: readonly number[]): number {
  const sum = shares.reduce((total, share) => total + share, 0);
  return sum ** 2 / (shares.length * shares.reduce((total, share) => total + share ** 2, 0));
}

describe('clients that wait', () => {
  test('take turns, regardless of who came first and of how much the others bring', () => {
    const queue = createFairQueue<Queued>();
    for (let count = 0; count < 20; count++) queue.push(job('busy', 100));
    queue.push(job('quiet', 100));
    const order = [queue.take(any), queue.take(any)].map((item) => item?.client);
    expect(order).toContain('quiet');
  });

  test('get the same CPU time, one of fifty twenty times as busy as the others', () => {
    const queue = createFairQueue<Queued>();
    const used = new Map<string, number>();
    const names = Array.from({ length: 50 }, (_, index) => `client ${index}`);
    const refill = () => {
      for (const [index, name] of names.entries()) {
        while (queue.count(name) < (index === 0 ? 20 : 1)) queue.push(job(name, index === 0 ? 900 : 120));
      }
    };
    for (let spent = 0; spent < 500_000; ) {
      refill();
      const { client, price } = queue.take(any) ?? job('', 0);
      used.set(client, (used.get(client) ?? 0) + price);
      spent += price;
    }
    expect(jain(names.map((name) => used.get(name) ?? 0))).toBeGreaterThan(0.9);
  });

  test('pay later for what their jobs took beyond the price', () => {
    const queue = createFairQueue<Queued>();
    for (let count = 0; count < 20; count++) {
      queue.push(job('liar', 50));
      queue.push(job('honest', 50));
    }
    const used = { liar: 0, honest: 0 };
    while (queue.count('liar') > 0 && queue.count('honest') > 0) {
      const { client } = queue.take(any) ?? job('', 0);
      const took = client === 'liar' ? 500 : 50;
      used[client as keyof typeof used] += took;
      queue.charge(client, took - 50);
    }
    expect(used.liar).toBeLessThan(used.honest + 500);
  });

  test('have uploads made before versions, and a version now and then all the same', () => {
    const queue = createFairQueue<Queued>();
    for (let count = 0; count < 8; count++) {
      queue.push(job('visitor', 50, 'version'));
      queue.push(job('uploader', 50));
    }
    const order = Array.from({ length: 8 }, () => queue.take(any)?.purpose);
    expect(order.slice(0, 3)).toEqual(['upload', 'upload', 'upload']);
    expect(order.filter((purpose) => purpose === 'version')).toHaveLength(2);
  });

  test('are told what goes before them: as much of the others as they bring themselves', () => {
    const queue = createFairQueue<Queued>();
    for (let count = 0; count < 20; count++) queue.push(job('busy', 1000));
    expect(queue.ahead('quiet', 100)).toBe(100);
    expect(queue.ahead('busy', 1000)).toBe(20_000);
  });

  test('leave nothing behind when their jobs are taken out of turn', () => {
    const queue = createFairQueue<Queued>();
    const item = job('a', 100);
    queue.push(item);
    expect(queue.remove(item)).toBe(true);
    expect(queue.remove(item)).toBe(false);
    expect([queue.count(), queue.price(), queue.take(any)]).toEqual([0, 0, undefined]);
  });
});

describe('the seats of two workers', () => {
  const [cheap, usual, heavy] = [{ price: 50 }, { price: 1000 }, { price: 20_000 }];

  test.each([
    ['a cheap job beside two usual ones', cheap, [usual, usual], true],
    ['a usual job beside two usual ones', usual, [usual, usual], false],
    ['a usual job beside a heavy one', usual, [heavy], true],
    ['a heavy job beside a heavy one', heavy, [heavy], false],
    ['a cheap job where all three are taken', cheap, [cheap, usual, usual], false],
  ])('%s', (_, { price }, running, expected) => {
    expect(mayRunBeside(price, running, 2)).toBe(expected);
  });

  test('a single worker also takes heavy jobs', () => {
    expect(mayRunBeside(heavy.price, [], 1)).toBe(true);
  });
});

describe('prices', () => {
  const photo: Estimate = {
    kind: 'jpeg',
    size: { width: 4000, height: 3000 },
    frames: 1,
    job: { format: 'webp', maxWidth: 4096 },
  };

  test('come closer to what jobs took, time-outs included', () => {
    const prices = createPrices();
    for (let count = 0; count < 60; count++) prices.learn(photo, 'a', 30_000);
    expect(prices.of(photo, 'a')).toBeGreaterThan(25_000);
    expect(prices.of({ ...photo, job: { ...photo.job, format: 'png' } }, 'a')).toBeLessThan(2000);
  });

  test('are learned from all clients, but change once for the others because of files of one', () => {
    const prices = createPrices();
    const before = prices.of(photo, 'b');
    for (let count = 0; count < 60; count++) prices.learn(photo, 'a', 30_000);
    expect(prices.of(photo, 'b')).toBeLessThan(before * 2);
    for (let count = 0; count < 60; count++) prices.learn(photo, `c${count}`, 30_000);
    expect(prices.of(photo, 'b')).toBeGreaterThan(25_000);
  });

  const icon = { width: 64, height: 64 };

  test.each([
    ['icons took more than their pixels explain', icon, 10],
    ['icons took no measurable time', icon, 0],
    ['files that hide their size took no time', null, 0],
  ])('of photos hardly change when %s, a thousand times', (_, size, ms) => {
    const prices = createPrices();
    const before = prices.of(photo, 'a');
    for (let count = 0; count < 1000; count++) prices.learn({ ...photo, size }, 'a', ms);
    expect(Math.abs(prices.of(photo, 'a') / before - 1)).toBeLessThan(0.05);
  });

  test('grow with pixels, frames and the format', () => {
    const prices = createPrices();
    const of = (estimate: Estimate) => prices.of(estimate, 'a');
    const half = { ...photo, size: { width: 2000, height: 3000 } };
    const moving: Estimate = { ...photo, kind: 'gif', frames: 100 };
    expect(of(half)).toBeLessThan(of(photo));
    expect(of({ ...photo, job: { ...photo.job, format: 'avif' } })).toBeGreaterThan(of(photo) * 3);
    expect(of(moving)).toBeGreaterThan(of({ ...moving, frames: 1 }) * 50);
    // Frames of AVIF are decoded with those that they build on.
    const layered = { ...moving, kind: 'heif' } as const;
    expect(of(layered)).toBeGreaterThan(of({ ...layered, frames: 10 }) * 50);
    const png: Estimate = { ...moving, job: { ...moving.job, format: 'png' } };
    expect(of(png)).toBeGreaterThan(of({ ...png, frames: 1 }) * 50);
    expect(of({ ...moving, job: { ...moving.job, format: 'jpeg' } })).toBeLessThan(of(moving) / 50);
  });
});

describe('frames', () => {
  test.each([
    ['a GIF', 'gif', async () => gifOfFrames(300), 300],
    ['a GIF of more frames than are counted', 'gif', async () => gifOfFrames(10_000), 501],
    ['an animated WebP', 'webp', () => animation('webp', { frames: 7, width: 90, height: 70 }), 7],
    ['a GIF with colour tables', 'gif', () => animation('gif', { frames: 5 }), 5],
    ['an animated AVIF', 'heif', () => avifSequence({ frames: new Array(4).fill([9, 9, 9]) }), 4],
    ['a still AVIF', 'heif', () => privatePhoto('avif'), 1],
    ['a still WebP', 'webp', () => privatePhoto('webp'), 1],
    ['a JPEG', 'jpeg', () => privatePhoto('jpeg'), 1],
    ['a truncated GIF', 'gif', async () => gifOfFrames(300).subarray(0, 20), 1],
    ['an empty WebP', 'webp', async () => Buffer.from('RIFF....WEBP'), 1],
  ] as const)('of %s are counted without decoding it', async (_, kind, make, expected) => {
    await withFolder(async (folder) => {
      const path = join(folder, 'file');
      await writeFile(path, await make());
      expect((await countFrames(path, kind, 501)).count).toBe(expected);
    });
  });
});

describe('the budget', () => {
  test('refuses beyond its CPU seconds, of that client alone, and says when the job can be made', async () => {
    const clock = { ms: 0 };
    const limiter = createLocalRateLimiter({ now: () => clock.ms });
    const budget = createBudget(limiter, { capacity: 10, perSecond: 0.5 });
    await budget.take('a', 8000);
    await expect(budget.take('a', 4000)).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfterMs: 4000,
      message: expect.stringContaining('in 4 s'),
    });
    await budget.take('b', 4000);
    clock.ms += 4000;
    await budget.take('a', 4000);
  });

  test('is charged afterwards, down to nothing, for what took longer', async () => {
    const limiter = createLocalRateLimiter({ now: () => 0 });
    const budget = createBudget(limiter, { capacity: 10, perSecond: 1 });
    await budget.take('a', 1000);
    await budget.charge('a', 29_000);
    await expect(budget.take('a', 1000)).rejects.toMatchObject({ retryAfterMs: 1000 });
  });

  test('lets a job pass that costs more than all of it, once it is full', async () => {
    const budget = createBudget(createLocalRateLimiter({ now: () => 0 }), { capacity: 10, perSecond: 1 });
    await budget.take('a', 60_000);
    await expect(budget.take('a', 1)).rejects.toMatchObject({ code: 'rate_limited' });
  });
});
