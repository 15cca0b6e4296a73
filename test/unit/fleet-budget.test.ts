import { beforeEach, expect, test } from 'bun:test';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import type { StateStore } from '../../src/lib/state.ts';
import { createCheckBudget } from '../../src/proxy/check/check-budget.ts';
import { createFleetBudget } from '../../src/proxy/check/fleet-budget.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { memoryDatabase } from '../support/stores/memory.ts';

const PER_HOUR = 100_000;
let state: StateStore;
const clock = createFakeClock();

beforeEach(async () => {
  state = createSqliteState(await memoryDatabase());
});

function open(copy: string, isRechecking: boolean) {
  const budget = createCheckBudget(clock, PER_HOUR);
  budget.isRechecking = isRechecking;
  return { budget, sync: createFleetBudget({ state, budget, clock, copy }) };
}

/** Lets these copies tell and hear, one after the other. */
async function sync(...copies: ReturnType<typeof open>[]): Promise<void> {
  for (const copy of copies) await copy.sync();
}

test('what one copy uses for discovery is missing from the rechecks of another, for as long as it says', async () => {
  const [one, two] = [open('one', true), open('two', false)];
  two.budget.discover(PER_HOUR);
  await sync(two, one);
  expect(two.budget.discovery.perHour).toBeCloseTo(0.8 * PER_HOUR);
  expect(one.budget.rechecks.perHour).toBeCloseTo(0.2 * PER_HOUR);
  for (let n = 0; n < 10; n++) {
    await clock.advance(2_000);
    await sync(two, one);
  }
  expect(one.budget.rechecks.perHour).toBeCloseTo(0.2 * PER_HOUR);
  two.budget.discover(0);
  await sync(two, one);
  expect(one.budget.rechecks.perHour).toBe(PER_HOUR);
});

test('a copy that has died takes nothing any more', async () => {
  const [one, two] = [open('one', true), open('two', false)];
  two.budget.discover(PER_HOUR);
  await sync(two, one);
  await clock.advance(14_000);
  await one.sync();
  expect(one.budget.rechecks.perHour).toBeCloseTo(0.2 * PER_HOUR);
  await clock.advance(2_000);
  await one.sync();
  expect(one.budget.rechecks.perHour).toBe(PER_HOUR);
});

test('rechecks of a refresh are paid back by the copy that rechecks, each once', async () => {
  const [one, two] = [open('one', true), open('two', false)];
  // Those that said nothing are taken back.
  for (const checks of [300, 0, -100, 300]) {
    two.budget.rechecks.spend(checks);
    await sync(two, one, one);
  }
  expect(one.budget.rechecks.allowance()).toBe(-500);
  const third = open('third', true);
  await third.sync();
  expect(third.budget.rechecks.allowance()).toBe(0);
});

test('a copy that does both counts each check once', async () => {
  const one = open('one', false);
  one.budget.discover(PER_HOUR);
  one.budget.rechecks.spend(10);
  await one.sync();
  one.budget.isRechecking = true;
  await one.sync();
  expect(one.budget.rechecks.perHour).toBeCloseTo(0.2 * PER_HOUR);
  expect(one.budget.rechecks.allowance()).toBe(-10);
});

test('what a check costs is found out by one copy, and holds for all, and for who takes over', async () => {
  const [one, two] = [open('one', true), open('two', false)];
  await one.sync();
  one.budget.checkCostMs = 54_321;
  await sync(one, two);
  expect(two.budget.checkCostMs).toBe(54_321);
  one.budget.checkCostMs = 60_000;
  await sync(one, two);
  expect(two.budget.checkCostMs).toBe(54_321);
  await clock.advance(30_000);
  await two.sync();
  expect(two.budget.checkCostMs).toBe(60_000);
  const next = open('next', true);
  await next.sync();
  expect(next.budget.checkCostMs).toBe(60_000);
});
