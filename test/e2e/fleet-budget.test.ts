import { describe, expect, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { redis } from '../../adapters/redis/adapter.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Checker } from '../../src/proxy/check/checker.ts';
import { createProxyService } from '../../src/proxy/service.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { absent } from '../support/absent.ts';
import { judgeState } from '../support/farm/judge-state.ts';
import { failed } from '../support/pool/pool.ts';
import { drafts } from '../support/stores/records.ts';
import { withPrefix } from '../support/stores/redis.ts';
import { startRedis, until } from '../support/stores/services.ts';

const PER_SECOND = 200;
/** How long is counted, at least. */
const COUNTED_MS = 2_500;
/** As many as each is to have made by then: discovery comes first, and rechecks have at least a tenth. */
const TRIES = 300;
const RECHECKS = 50;

describe.skipIf(absent('redis-server'))('two copies over Redis', () => {
  test('recheck and discover within one budget', async () => {
    const server = await startRedis();
    const url = withPrefix(server.url);
    const checks: Record<string, number[]> = { one: [], two: [] };
    const open = async (name: string) => {
      const stores = await redis.open(url, { runtime: bunRuntime, folder: tmpdir(), log: () => {} } as never);
      const checker: Checker = {
        async check() {
          checks[name]?.push(performance.now());
          return failed;
        },
        refuses: () => false,
        probe: async () => judgeState('up'),
        judges: () => judgeState('up'),
        close() {},
      };
      const service = createProxyService({
        store: stores.proxies,
        state: stores.state,
        locks: stores.locks,
        checker,
        async readSource(_, { onCandidate }) {
          for (let n = 0; n < 4_000; n++)
            onCandidate('socks5', `198.18.${n >> 8}.${n & 255}`, 80, null, null);
          return { found: 4_000, rejected: 0, bytes: 0, error: null, reached: true };
        },
        sources: [{ name: 'list', url: 'https://lists.example/', format: 'lines', protocol: null }],
        countryOf: () => 'ZZ',
        clock: systemClock,
        random: Math.random,
        log: () => {},
        refreshIntervalMs: 3_600_000,
        refreshOnStart: false,
        refreshBudgetMs: 1,
        concurrency: 1000,
        checksPerHour: PER_SECOND * 3600,
        deadRetentionMs: 1e13,
        maxPool: 6_000,
      });
      return { stores, service };
    };
    const one = await open('one');
    const two = await open('two');
    try {
      // More than enough is due, and stays so.
      const due = drafts(4_000, () => ({ status: 'dead', nextCheck: 1, lastChecked: 1, lastAlive: null }));
      await one.stores.proxies.save(due);
      one.service.start();
      await systemClock.sleep(200);
      two.service.start();
      await two.service.refresh();
      while ((await two.service.currentRefresh()).state === 'running') await systemClock.sleep(50);
      // Each looks once a second at what the other one says.
      while ((await two.stores.state.get('proxy:budget')) === null) await systemClock.sleep(50);
      await systemClock.sleep(1_500);
      const since = performance.now();
      const made = () => Object.values(checks).map((times) => times.filter((time) => time >= since).length);
      await systemClock.sleep(COUNTED_MS);
      await until(() => {
        const [rechecks = 0, tries = 0] = made();
        return rechecks > RECHECKS && tries > TRIES;
      });
      const [rechecks = 0, tries = 0] = made();
      const seconds = (performance.now() - since) / 1000;
      // They come in batches of a second, of which the first was paid for before.
      expect(rechecks + tries).toBeLessThan(1.1 * PER_SECOND * seconds + PER_SECOND);
    } finally {
      await Promise.all([one.service.stop(), two.service.stop()]);
      await Promise.all([one.stores.close(), two.stores.close()]);
      await server.stop();
    }
  });
});
