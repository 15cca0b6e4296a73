import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { createChecker } from '../src/proxy/check/checker.ts';
import { PROTOCOLS, type Protocol } from '../src/proxy/proxy.ts';
import { openForeignWorld } from '../test/support/farm/foreign-world.ts';

/**
 * How often each judge is asked directly while 20,000 proxies are checked in an hour, of which 35 % refuse, 50 % are silent
 * and 15 % work. In real time; the argument is how many seconds.
 */
const seconds = Number(process.argv[2] ?? 60);
const PER_HOUR = 20_000;
const TARGET = 0.2;
const SILENT = {
  http: 'silent',
  https: 'silent https',
  socks4: 'silent socks4',
  socks5: 'silent socks5',
} as const;

const direct = new Map<string, number>();
const count = (name: string) => ({
  onRequest: (_path: string, peer: string) => {
    if (peer === '127.0.0.1') direct.set(name, (direct.get(name) ?? 0) + 1);
  },
});
const world = await openForeignWorld({
  plain: (n) => count(`plain ${n}`),
  secure: (n) => count(`secure ${n}`),
});
const checker = createChecker({
  ...world.options,
  timeoutMs: 8_000,
  // As for judges of others, although these are local.
  questionGapMs: 5_000,
  allowPrivate: true,
  now: Date.now,
  randomToken: randomUUID,
  log: () => {},
});
await checker.probe();
const ends = new Map<string, number>();
const running: Promise<void>[] = [];
const total = Math.round((PER_HOUR / 3600) * seconds);
const startedAt = performance.now();
for (let n = 0; n < total; n++) {
  await setTimeout(Math.max(0, startedAt + (n * 3_600_000) / PER_HOUR - performance.now()));
  running.push(check(n));
}
await Promise.all(running);
const lasted = (performance.now() - startedAt) / 1000;
checker.close();
await world.close();

console.log(Object.fromEntries(ends));
console.log('direct questions:', Object.fromEntries(direct));
const most = Math.max(...direct.values()) / lasted;
const good = most <= TARGET;
console.log(
  `${good ? 'ok  ' : 'MISS'} most direct questions a second to one judge: ${most.toFixed(3)} (<= ${TARGET})`,
);
if (!good) process.exitCode = 1;

async function check(n: number): Promise<void> {
  const protocol = PROTOCOLS[n % 4] as Protocol;
  const chance = Math.random();
  const endpoint = world.farm.endpoint(chance < 0.5 ? SILENT[protocol] : protocol, n);
  const port = chance > 0.65 ? world.farm.closedPort : endpoint.port;
  const result = await checker.check({ ...endpoint, port });
  const end = result.verdict === 'alive' ? 'alive' : result.error;
  ends.set(end, (ends.get(end) ?? 0) + 1);
}
