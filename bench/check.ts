import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { type Checker, createChecker } from '../src/proxy/check/checker.ts';
import type { Protocol } from '../src/proxy/proxy.ts';
import { farmAddress, type RoleName } from '../test/support/farm/farm.ts';
import { bareCheck, createBareTlsCheck, inParallel, startFarmProcess } from './bare-check.ts';
import { median } from './images/row.ts';

/**
 * Checks per second of working proxies, as a share of a bare loop that sends and reads the same bytes, over TLS if
 * the check does, and the time that silent proxies take. Both take turns in one run. `--full` takes longer.
 */
const full = process.argv.includes('--full');
const CHECKS = full ? 6_000 : 3_000;
/** A handshake costs ten times as much as the rest of a check. */
const TLS = { checks: full ? 2_000 : 600, warmUp: full ? 3_000 : 1_000, atOnce: 64 } as const;
/** The engine compiles until then: a check costs twice as much at first, and a quarter more after 15,000. */
const WARM_UP = 60_000;
const ROUNDS = full ? 9 : 5;
const AT_ONCE = 256;
const SETTLING_MS = 200;
const SILENT = full
  ? { count: 10_000, atOnce: 2_000, limitMs: 3_000 }
  : { count: 2_000, atOnce: 1_000, limitMs: 1_000 };

interface Measured {
  perSecond: number;
  cpuMicros: number;
}

const farm = await startFarmProcess();

await compare('http', 'instant http', 0.9, (host) => bareCheck(farm, host));
await compare('socks5', 'socks5', 0.8, createBareTlsCheck(farm, 'socks5'));
await compare('https', 'https', 0.8, createBareTlsCheck(farm, 'https'));
await silent();
farm.stop();

function checkerWith(timeoutMs: number): Checker {
  return createChecker({
    judges: [farm.judge, farm.tlsJudge],
    ca: farm.ca,
    resolve: async () => ['127.0.0.1'],
    timeoutMs,
    allowPrivate: true,
    now: Date.now,
    randomToken: randomUUID,
    log: () => {},
  });
}

async function compare(
  protocol: Protocol,
  role: RoleName,
  target: number,
  bareCheckOf: (host: string) => Promise<void>,
): Promise<void> {
  const name = protocol;
  const checker = checkerWith(8_000);
  await checker.probe();
  const check = async (n: number) => {
    const result = await checker.check({ protocol, ip: farmAddress(role, n), port: farm.port });
    if (result.verdict !== 'alive') throw new Error(`${name}: ${result.error}`);
  };
  const bare = (n: number) => bareCheckOf(farmAddress(role, n));
  const size = protocol === 'http' ? { checks: CHECKS, warmUp: WARM_UP, atOnce: AT_ONCE } : TLS;
  await measure(check, size.warmUp, size.atOnce);
  await measure(bare, size.warmUp, size.atOnce);
  const rounds: { bare: Measured; check: Measured }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({
      bare: await measure(bare, size.checks, size.atOnce),
      check: await measure(check, size.checks, size.atOnce),
    });
  }
  const ratio = median(rounds.map((round) => round.check.perSecond / round.bare.perSecond));
  const byCpu = median(rounds.map((round) => round.bare.cpuMicros / round.check.cpuMicros));
  const extra = median(rounds.map((round) => round.check.cpuMicros - round.bare.cpuMicros));
  const rate = median(rounds.map((round) => round.check.perSecond));
  const bareRate = median(rounds.map((round) => round.bare.perSecond));
  report(
    `${name}: ${rate.toFixed(0)} checks/s, bare loop ${bareRate.toFixed(0)}/s; ratio`,
    ratio,
    '>=',
    target,
  );
  report(`${name}: CPU of the bare loop over that of a check`, byCpu, '>=', target);
  if (protocol === 'http') report(`${name}: CPU per check over the bare loop, us`, extra, '<=', 100);
  checker.close();
}

async function measure(run: (n: number) => Promise<void>, count: number, atOnce: number): Promise<Measured> {
  // Leftovers of the previous round (garbage, closing connections) must not count in this one.
  if ('Bun' in globalThis) Bun.gc(true);
  await setTimeout(SETTLING_MS);
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  await inParallel(run, count, atOnce);
  const seconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: count / seconds, cpuMicros: (user + system) / count };
}

async function silent(): Promise<void> {
  const { count, atOnce, limitMs } = SILENT;
  const checker = checkerWith(limitMs);
  await checker.probe();
  await setTimeout(SETTLING_MS);
  const startedAt = performance.now();
  let timeouts = 0;
  await inParallel(
    async (n) => {
      const result = await checker.check({ protocol: 'http', ip: farmAddress('silent', n), port: farm.port });
      if (result.verdict === 'dead' && result.error === 'timeout') timeouts++;
    },
    count,
    atOnce,
  );
  const ratio = (performance.now() - startedAt) / ((count / atOnce) * limitMs);
  report(
    `${timeouts} of ${count} silent proxies, ${atOnce} at once, limit ${limitMs} ms; time over the ideal`,
    ratio,
    '<=',
    1.1,
  );
  checker.close();
}

function report(what: string, value: number, relation: '>=' | '<=', target: number): void {
  const good = relation === '>=' ? value >= target : value <= target;
  console.log(`${good ? 'ok  ' : 'MISS'} ${what}: ${value.toFixed(2)} (${relation} ${target})`);
  if (!good) process.exitCode = 1;
}
