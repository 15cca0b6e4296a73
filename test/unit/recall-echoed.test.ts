import { expect, test } from 'bun:test';
import { createSqliteProxies } from '../../adapters/sqlite/proxies.ts';
import { createEchoedRecall } from '../../src/proxy/recheck/recheck.ts';
import { judgeState } from '../support/farm/judge-state.ts';
import { memoryDatabase } from '../support/stores/memory.ts';
import { draft } from '../support/stores/records.ts';

test('once a witness is back, echoed proxies are checked first, once', async () => {
  const store = createSqliteProxies(await memoryDatabase(), { random: Math.random });
  const later = Date.now() + 3_600_000;
  const [echoed, relayed, dead] = await store.save([
    draft({ port: 1001, proof: 'echoed', nextCheck: later }),
    draft({ port: 1002, proof: 'relayed', nextCheck: later }),
    draft({ port: 1003, proof: 'echoed', status: 'dead', nextCheck: later }),
  ]);
  let state: 'up' | 'down' = 'down';
  const recall = createEchoedRecall(store, () => ({
    ...judgeState('up'),
    witnesses: { state, witnesses: [] },
  }));
  const next = async () =>
    Promise.all([echoed, relayed, dead].map(async (one) => (await store.get(one?.id ?? 0))?.nextCheck));
  await recall();
  expect(await next()).toEqual([later, later, later]);
  state = 'up';
  await recall();
  expect(await next()).toEqual([0, later, later]);
  await store.reschedule(echoed?.id ?? 0, later);
  await recall();
  expect(await next()).toEqual([later, later, later]);
  state = 'down';
  await recall();
  state = 'up';
  await recall();
  expect(await next()).toEqual([0, later, later]);
});
