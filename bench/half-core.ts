import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { createChecker } from '../src/proxy/check/checker.ts';
import { type Endpoint, PROTOCOLS, type Protocol } from '../src/proxy/proxy.ts';
import { farmAddress, ROLES, type RoleName } from '../test/support/farm/farm.ts';
import { inParallel } from './bare-check.ts';

/**
 * How many of 2,000 honest proxies are found among 8,000 hostile ones by a checker with the default limits that shares
 * one core with a busy neighbour, while farm, judges and witnesses have the other core. `--alone` leaves the neighbour out.
 */
const [CHECKER_CORE, WORLD_CORE] = ['0', '1'];
const HONEST = 2_000;
const HOSTILE = 8_000;
const AT_ONCE = 1_000;
const LIMIT_MS = 8_000;
const TARGET = 0.99;

const HOSTILE_ROLES: RoleName[] = [
  ...['silent', 'silent https', 'silent socks4', 'silent socks5', 'half an answer'],
  ...['garbage', 'captive portal', 'CONNECT refused', 'self-signed certificate', 'dripping body'],
  ...['imitates azenv', 'diverts judges in SOCKS5', 'endless body', 'socks5 that declines', 'redirect'],
  ...['compressed bomb'],
] as RoleName[];

if (process.env.PINNED === undefined) await pinned();
else await measure();

/** Runs this file again on its core, with its neighbour. */
async function pinned(): Promise<void> {
  const neighbour = process.argv.includes('--alone')
    ? null
    : spawn('taskset', ['-c', CHECKER_CORE, process.execPath, '-e', 'for (;;) {}']);
  const env = { ...process.env, PINNED: '1' };
  const run = spawn('taskset', ['-c', CHECKER_CORE, process.execPath, import.meta.path], {
    stdio: 'inherit',
    env,
  });
  process.exitCode = await new Promise<number>((resolve) => run.once('exit', (code) => resolve(code ?? 1)));
  neighbour?.kill();
}

async function measure(): Promise<void> {
  const child = spawn('taskset', [
    ...['-c', WORLD_CORE, process.execPath, 'test/support/farm/foreign-world-process.ts'],
  ]);
  const world = await factsOf(child);
  const checker = createChecker({
    judges: world.judges,
    witnesses: world.witnesses,
    ca: world.ca,
    resolve: async () => ['127.0.0.1'],
    timeoutMs: LIMIT_MS,
    allowPrivate: true,
    now: Date.now,
    randomToken: randomUUID,
    log: () => {},
  });
  await checker.probe();
  const proxies = shuffled([
    ...Array.from({ length: HONEST }, (_, n) => endpoint(PROTOCOLS[n % 4] as Protocol, n, world.port)),
    ...Array.from({ length: HOSTILE }, (_, n) =>
      endpoint(HOSTILE_ROLES[n % HOSTILE_ROLES.length] as RoleName, n, world.port),
    ),
  ]);
  const ends = { honest: new Map<string, number>(), hostile: new Map<string, number>() };
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  await inParallel(
    async (n) => {
      const one = proxies[n];
      if (!one) return;
      const result = await checker.check(one);
      const end = result.verdict === 'alive' ? `alive, ${result.proof}` : result.error;
      const count = one.honest ? ends.honest : ends.hostile;
      count.set(end, (count.get(end) ?? 0) + 1);
    },
    proxies.length,
    AT_ONCE,
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const core = (user + system) / 1e6 / seconds;
  const found = [...ends.honest]
    .filter(([end]) => end.startsWith('alive'))
    .reduce((sum, [, n]) => sum + n, 0);
  const believed = [...ends.hostile]
    .filter(([end]) => end.startsWith('alive'))
    .reduce((sum, [, n]) => sum + n, 0);
  console.log('honest:', Object.fromEntries(ends.honest));
  console.log('hostile:', Object.fromEntries(ends.hostile));
  console.log(`${seconds.toFixed(0)} s on ${core.toFixed(2)} of a core`);
  const share = found / HONEST;
  const good = share >= TARGET && believed === 0;
  console.log(`${good ? 'ok  ' : 'MISS'} share of the honest found: ${share.toFixed(4)} (>= ${TARGET})`);
  if (!good) process.exitCode = 1;
  checker.close();
  child.stdin?.end();
}

interface WorldFacts {
  port: number;
  judges: string[];
  witnesses: string[];
  ca: string;
}

function factsOf(child: ChildProcess): Promise<WorldFacts> {
  return new Promise((resolve, reject) => {
    if (child.stdout) createInterface(child.stdout).once('line', (line) => resolve(JSON.parse(line)));
    child.once('exit', () => reject(new Error('the world did not start')));
  });
}

function endpoint(role: RoleName, n: number, port: number): Endpoint & { honest: boolean } {
  const honest = (PROTOCOLS as readonly string[]).includes(role);
  return { protocol: ROLES[role].protocol, ip: farmAddress(role, n), port, honest };
}

function shuffled<T>(list: T[]): T[] {
  return list
    .map((one) => ({ one, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);
}
