/**
 * A server whose checks are answered by a stand-in, so that a refresh costs what storing costs. Prints its port; at a
 * line on stdin it refreshes and prints what that did as JSON.
 */
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLocalLocks } from '../../adapters/local/locks.ts';
import { openDatabase } from '../../adapters/sqlite/database.ts';
import { createSqliteProxies } from '../../adapters/sqlite/proxies.ts';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import { createApp } from '../../src/app.ts';
import { createClients } from '../../src/http/client/clients.ts';
import { createProxyTrust } from '../../src/http/client/proxy-trust.ts';
import { createContexts } from '../../src/http/context.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { breathe } from '../../src/lib/schedule.ts';
import type { Checker } from '../../src/proxy/check/checker.ts';
import { statsAnswer } from '../../src/proxy/descriptions.ts';
import { proxyRoutes } from '../../src/proxy/routes.ts';
import { createProxyService } from '../../src/proxy/service.ts';
import { createTargets } from '../../src/proxy/targets/targets.ts';
import { createTestimony } from '../../src/proxy/targets/testimony.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { openTestWeb } from '../../test/support/browser/web.ts';
import { judgeState } from '../../test/support/farm/judge-state.ts';
import { nthDraft } from '../list/fill.ts';

const [file = '', known = '0', results = '0', seconds = '0'] = process.argv.slice(2);
const AT_ONCE = 500;
const CHECK_MS = (1000 * Number(seconds) * AT_ONCE) / Number(results);
const WORKING = 0.05;

const checker: Checker = {
  refuses: () => false,
  async check() {
    await sleep(CHECK_MS * (0.5 + Math.random()));
    if (Math.random() > WORKING) return { verdict: 'dead', error: 'timeout' };
    const totalMs = 100 + Math.random() * 2000;
    const exitIp = '198.51.100.9';
    return {
      verdict: 'alive',
      connectMs: 50,
      firstByteMs: 90,
      totalMs,
      exitIp,
      anonymity: 'elite',
      tampering: [],
      proof: 'relayed',
    };
  },
  probe: async () => checker.judges(),
  judges: () => judgeState('up'),
  close() {},
};

/** The longest time in which no timer had its turn, in ms, and the CPU that the process used in it. */
function watchEventLoop() {
  const longest = { wallMs: 0, cpuMs: 0 };
  let then = performance.now();
  let cpu = process.cpuUsage();
  const timer = setInterval(() => {
    const wallMs = performance.now() - then;
    const { user, system } = process.cpuUsage(cpu);
    if (wallMs > longest.wallMs) Object.assign(longest, { wallMs, cpuMs: (user + system) / 1000 });
    then = performance.now();
    cpu = process.cpuUsage();
  }, 5);
  return { longest, stop: () => clearInterval(timer) };
}

const database = await openDatabase(bunRuntime.openSqlite, file);
const store = createSqliteProxies(database);
const contexts = createContexts({
  clients: createClients({ trust: createProxyTrust([]), log: () => {}, now: Date.now }),
  publicUrl: undefined,
  adminToken: undefined,
});
const state = createSqliteState(database);
const locks = createLocalLocks();
const service = createProxyService({
  store,
  state,
  locks,
  checker,
  async readSource(_, { onCandidate }) {
    for (let index = 0; index < Number(results); index++) {
      const { protocol, ip, port } = nthDraft(Number(known) + index);
      onCandidate(protocol, ip, port, null, null);
      if (index % 1000 === 0) await breathe();
    }
    return { found: Number(results), rejected: 0, bytes: 0, error: null, reached: true };
  },
  sources: [{ name: 'list', url: 'https://lists.example/', format: 'lines', protocol: null }],
  countryOf: () => 'DE',
  clock: systemClock,
  random: Math.random,
  log: () => {},
  refreshIntervalMs: 86_400_000,
  refreshOnStart: false,
  refreshBudgetMs: 600_000,
  concurrency: AT_ONCE,
  deadRetentionMs: 86_400_000,
  maxPool: 200_000,
});
const targets = createTargets({
  testimony: createTestimony({ random: Math.random, monotonic: () => performance.now() }),
  named: [],
  store,
  state,
  locks,
  ask: async () => null,
  mayAsk: () => true,
  now: Date.now,
  onError: console.error,
});
const app = createApp({
  version: '0',
  web: await openTestWeb(),
  features: [
    {
      name: 'Proxy pool',
      basePath: '',
      routes: proxyRoutes({ service, targets }),
      stats: service.stats,
      statsAnswer,
      version: service.version,
    },
  ],
  contexts,
  limits: null,
  health: [],
  publicUrl: undefined,
  log: () => {},
  now: () => performance.now(),
});
const server = await bunRuntime.serve(app.handle, { hostname: '127.0.0.1', port: 0 });
console.log(server.port);

for await (const _ of createInterface(process.stdin)) {
  const loop = watchEventLoop();
  const startedAt = performance.now();
  await service.refresh({ all: false });
  let job = await service.currentRefresh();
  while (job.state === 'running') {
    await sleep(50);
    job = await service.currentRefresh();
  }
  loop.stop();
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(JSON.stringify({ seconds, checked: job.checked, error: job.error, stop: loop.longest }));
}
await service.stop();
await server.close();
database.close();
