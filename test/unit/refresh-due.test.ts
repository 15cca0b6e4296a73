import { expect, test } from 'bun:test';
import { NO_JOB, type RefreshJob } from '../../src/proxy/refresh/progress.ts';
import { createPatience, nextRefreshAt } from '../../src/proxy/refresh/timers.ts';
import { createPool } from '../support/pool/pool.ts';

const HOUR = 3_600_000;
const START = 100 * HOUR;
const next = (job: Partial<RefreshJob>, onStart = true, now = START) =>
  (nextRefreshAt({ ...NO_JOB, ...job }, { startedAt: START, intervalMs: HOUR, onStart }, now) - START) / HOUR;

test('the first refresh comes at the start, or an interval after it', () => {
  expect([next({}), next({}, false)]).toEqual([0, 1]);
});

test('the next one comes an interval after the last one began, give or take its jitter', () => {
  const done = { state: 'done', startedAt: START - HOUR / 2, finishedAt: START - HOUR / 4 } as const;
  expect(next(done)).toBe(0.5);
  expect(next({ ...done, jitter: 0.05 })).toBeCloseTo(0.55);
  expect(next({ ...done, jitter: -0.05 })).toBeCloseTo(0.45);
  expect(next(done, false)).toBe(1);
  const later = { ...done, startedAt: START + HOUR, finishedAt: START + HOUR + 1 };
  expect(next(later, false, START + 1.5 * HOUR)).toBe(2);
});

test('after a failure it comes when that says', () => {
  const failed = { state: 'failed', startedAt: START, finishedAt: START + 1 } as const;
  expect(next({ ...failed, retryAt: START + HOUR / 60 })).toBeCloseTo(1 / 60);
});

test('what a copy with a wrong clock has just refreshed is not refreshed again, whatever its times say', () => {
  const hasWaited = createPatience(HOUR);
  const by = (id: string, hoursOff: number, retryAt: number | null = null) => {
    const startedAt = START + hoursOff * HOUR;
    return { id, startedAt, finishedAt: startedAt + HOUR / 60, retryAt };
  };
  // What was there at the start may be from long ago.
  expect(hasWaited(by('found', 0), 0, 0)).toBe(true);
  for (const [index, hoursOff] of [-1000, -2, 2, 1000].entries()) {
    const [job, at] = [by(`job ${index}`, hoursOff), (index + 1) * 2 * HOUR];
    const waits = [0, 0.5, 0.9, 1].map((hours) => at + hours * HOUR);
    expect(waits.map((ms) => hasWaited(job, ms, START + ms))).toEqual([false, false, false, true]);
  }
  const failed = by('failed', -1000, START - 1000 * HOUR + HOUR / 30);
  expect(
    [0, HOUR / 120, HOUR / 59].map((waited) => hasWaited(failed, 20 * HOUR + waited, START + waited)),
  ).toEqual([...[false, false, true]]);
  // The machine has slept for a night.
  expect(hasWaited(by('failed', -1000), 20 * HOUR, START + 9 * HOUR)).toBe(true);
});

test('the jitter of each refresh is a new random one, and lies within a twentieth of the interval', async () => {
  const draws = [0, 1, 0.25];
  const pool = await createPool({}, { random: () => draws[0] ?? 0 });
  const jitters: number[] = [];
  while (draws.length > 0) {
    await pool.refresh();
    const saved = JSON.parse((await pool.state.get('proxy:refresh')) ?? '') as RefreshJob;
    jitters.push(saved.jitter);
    draws.shift();
  }
  expect(jitters).toEqual([-0.05, 0.05, -0.025]);
  await pool.close();
});

test('a pool is out of date two intervals after its last refresh, but not because the clock was set back since', async () => {
  const pool = await createPool({ list: ['http://192.0.2.1:80'] });
  await pool.refresh();
  const { now } = pool.clock;
  const conditions: string[] = [];
  for (const hours of [-10, 1.9, 2.1]) {
    pool.clock.now = () => now() + hours * HOUR;
    conditions.push((await pool.service.status()).condition);
  }
  expect(conditions).toEqual(['ready', 'ready', 'stale']);
  await pool.close();
});
