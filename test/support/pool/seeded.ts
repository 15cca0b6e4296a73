import { join } from 'node:path';
import { openDatabase } from '../../../adapters/sqlite/database.ts';
import { createSqliteProxies } from '../../../adapters/sqlite/proxies.ts';
import { createSqliteState } from '../../../adapters/sqlite/state.ts';
import { ANONYMITIES, CHECK_ERRORS, PROTOCOLS } from '../../../src/proxy/proxy.ts';
import { NO_JOB, type RefreshJob } from '../../../src/proxy/refresh/progress.ts';
import type { ProxyDraft } from '../../../src/proxy/store.ts';
import { bunRuntime } from '../../../src/runtime/bun.ts';
import { createRandom } from '../random.ts';
import { draft } from '../stores/records.ts';

/** More of the first than of the last. */
const COUNTRIES = ['US', 'DE', 'SG', 'FR', 'BR', 'ID', 'IN', 'NL', 'JP', 'VN', 'CO', 'FI', 'ZA', 'ZZ'];
const SOURCES = ['plain-http', 'mixed-socks', 'hourly-csv', 'table-page'];
/** Networks for documentation: these addresses belong to nobody. */
const NETWORKS = ['192.0.2', '198.51.100', '203.0.113'];
const PORTS = [8080, 3128, 1080, 80, 8888];
const SLOT_MS = 600_000;

/** Writes a pool of `size` proxies, a quarter of them alive, as it is after weeks of work, into the database of a server that does not run yet. */
export async function seedPool(folder: string, now: number, size = 1800): Promise<void> {
  const database = await openDatabase(bunRuntime.openSqlite, join(folder, 'picpool.db'));
  const store = createSqliteProxies(database);
  const state = createSqliteState(database);
  const random = createRandom(7);
  const drafts = Array.from({ length: size }, (_, index) => draftOf(index, now, random));
  await store.save(drafts);
  const alive = drafts.filter(({ status }) => status === 'alive').length;
  const history = Array.from({ length: 145 }, (_, index) => {
    const age = 144 - index;
    const wave = Math.sin(age / 19) * 38 + Math.sin(age / 5.3) * 12 + (random() - 0.5) * 14 - age * 0.55;
    return {
      at: now - age * SLOT_MS,
      alive: Math.round(alive + (age === 0 ? 0 : wave)),
      total: drafts.length,
    };
  });
  const hours = Array.from({ length: 720 }, (_, index) => {
    const age = 719 - index;
    const wave = Math.sin(age / 3.8) * 25 + Math.sin(age / 55) * 60 - age * 0.2 + (random() - 0.5) * 14;
    return {
      at: now - age * 6 * SLOT_MS,
      alive: Math.max(0, Math.round(alive * (1 + wave / 500))),
      total: drafts.length,
    };
  });
  const job: RefreshJob = {
    ...NO_JOB,
    id: 'seeded',
    state: 'done',
    stage: 'cleanup',
    fetched: 41_873,
    candidates: 9214,
    checked: 9214,
    alive,
    removed: 127,
    judge: 'up',
    startedAt: now - 14 * 60_000,
    finishedAt: now - 12 * 60_000,
    updatedAt: now - 12 * 60_000,
    sources: SOURCES.map((name, index) => ({
      name,
      state: index === 3 ? 'failed' : 'done',
      found: index === 3 ? 0 : 21_400 - index * 7130,
      fresh: index === 3 ? 0 : 2310 - index * 640,
      checked: index === 3 ? 0 : 2310 - index * 640,
      alive: index === 3 ? 0 : 61 - index * 17,
      error: index === 3 ? 'The list answered with an error page.' : null,
      yield: index === 3 ? null : 0.03,
      pausedUntil: null,
    })),
  };
  await state.set('proxy:history', JSON.stringify(history));
  await state.set('proxy:history:hours', JSON.stringify(hours));
  await state.set('proxy:refresh', JSON.stringify(job));
  await state.set('proxy:last-refresh', String(job.finishedAt));
  database.close();
}

function draftOf(index: number, now: number, random: () => number): ProxyDraft {
  const alive = index % 4 === 0;
  const pick = <T>(list: readonly T[], skew = 1): T => list[Math.floor(random() ** skew * list.length)] as T;
  const uptime = alive ? 1 - random() ** 2 * 0.7 : random() * 0.3;
  const protocol = pick(PROTOCOLS);
  const proof = protocol === 'http' ? 'relayed' : 'tls';
  return draft({
    protocol,
    ip: `${NETWORKS[index % 3]}.${1 + (Math.floor(index / 3) % 250)}`,
    port: (PORTS[index % 5] ?? 80) + Math.floor(index / 750),
    country: pick(COUNTRIES, 2.2),
    source: pick(SOURCES, 1.5),
    status: alive ? 'alive' : 'dead',
    responseMs: alive ? 90 + random() ** 2 * 3200 : null,
    anonymity: alive ? pick(ANONYMITIES, 0.6) : null,
    exitIp: null,
    error: alive ? null : pick(CHECK_ERRORS.slice(1)),
    firstSeen: now - random() * 20 * 86_400_000,
    lastChecked: now - random() * 50 * 60_000,
    lastAlive: alive ? now - 60_000 : null,
    // Later than any test takes, and no later than a working proxy can be planned for.
    nextCheck: now + 3_600_000,
    checks: 40,
    successes: alive ? 34 : 2,
    run: alive ? 6 : -4,
    runSince: now - 3_600_000,
    uptime,
    uptimeWeight: 1,
    proof: alive ? proof : null,
    recent: recentOf(uptime, alive, random),
  });
}

/** Thirty checks of a proxy that is alive for such a share of the time. */
function recentOf(uptime: number, alive: boolean, random: () => number): number {
  const before = Array.from({ length: 29 }, () => (random() < uptime ? '1' : '0')).join('');
  return Number.parseInt(`1${before}${alive ? '1' : '0'}`, 2);
}
