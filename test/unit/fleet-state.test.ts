import { beforeEach, expect, test } from 'bun:test';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import type { StateStore } from '../../src/lib/state.ts';
import type { JudgeState } from '../../src/proxy/check/checker.ts';
import { createSharedJudges } from '../../src/proxy/check/fleet-budget.ts';
import { createProgress, NO_JOB, type RefreshJob } from '../../src/proxy/refresh/progress.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { judgeState } from '../support/farm/judge-state.ts';
import { createPool } from '../support/pool/pool.ts';
import { memoryDatabase } from '../support/stores/memory.ts';

let state: StateStore;

beforeEach(async () => {
  state = createSqliteState(await memoryDatabase());
});

test('a copy that lost its lease does not overwrite the job of its successor', async () => {
  const logged: string[] = [];
  const log = (_level: string, message: string) => void logged.push(message);
  const [old, young] = [1, 2].map(() => createProgress({ state, clock: createFakeClock(), log }));
  const job = (id: string): RefreshJob => ({ ...NO_JOB, id, state: 'running' });
  await old?.begin(job('old'), 1);
  await young?.begin(job('young'), 2);
  await old?.end();
  expect((await young?.saved())?.id).toBe('young');
  expect(logged).toEqual(['another copy has taken over the refresh']);
  await young?.end();
});

test('the state of judges is that of the last request by any copy', async () => {
  const found = (judge: JudgeState['state'], checkedAt: number | null): JudgeState =>
    judgeState(judge, [
      { url: 'http://judge', up: judge === 'up', leftOut: false, error: null, latencyMs: null, checkedAt },
    ]);
  let here = found('unknown', null);
  let there = found('up', 1000);
  const one = createSharedJudges(state, () => here);
  const two = createSharedJudges(state, () => there);
  await Promise.all([one.tell(), two.tell()]);
  expect((await one.latest()).state).toBe('up');
  here = found('down', 2000);
  await one.tell();
  expect((await two.latest()).state).toBe('down');
  there = found('up', 3000);
  expect((await two.latest()).state).toBe('up');
  await two.tell();
  expect((await one.latest()).state).toBe('up');
  // Its clock was ahead before.
  there = found('down', 4);
  await two.tell();
  expect([(await one.latest()).state, (await two.latest()).state]).toEqual(['down', 'down']);
  // Witnesses answer after the judges.
  const [witness] = found('up', 5).judges;
  there = { ...there, witnesses: { state: 'up', witnesses: witness ? [witness] : [] } };
  expect((await two.latest()).witnesses.state).toBe('up');
  await two.tell();
  expect((await one.latest()).witnesses.state).toBe('up');
});

test('a refresh that breaks off elsewhere is followed by one here', async () => {
  const pool = await createPool({ list: ['http://192.0.2.1:80'] }, { refreshOnStart: false });
  await pool.clock.advance(60_000);
  const elsewhere = { ...NO_JOB, id: 'elsewhere', state: 'running', startedAt: pool.clock.now() };
  await pool.state.set('proxy:refresh', JSON.stringify({ ...elsewhere, updatedAt: pool.clock.now() }));
  await pool.clock.advance(30_000);
  pool.service.start();
  await pool.clock.advance(100);
  const next = await pool.ended();
  expect(next).toMatchObject({ state: 'done', checked: 1 });
  expect(next.id).not.toBe('elsewhere');
  await pool.close();
});
