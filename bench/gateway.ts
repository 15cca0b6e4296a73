/**
 * The gateway against a farm of proxies of which a part works: success, times, dials, and what of the proxies' own pages reached
 * the client. `bun bench/gateway.ts [--runtime deno] [--peer NAME=COMMAND] [row ...]` measures the rows whose names contain the words;
 * a peer is a program that serves a proxy on `{port}` over the list in the file `{list}`.
 */
import { parseArgs } from 'node:util';
import type { FarmRole } from '../test/support/gateway/farm.ts';
import { type Driven, drive } from './gateway/drive.ts';
import { type BenchFarm, programOf, type Subject, startBenchFarm, startSubject } from './gateway/world.ts';

const { values: options, positionals: rows } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  options: {
    runtime: { type: 'string', default: 'bun' },
    peer: { type: 'string', multiple: true, default: [] },
  },
});
const program = programOf(options.runtime);
const wanted = (row: string) => rows.length === 0 || rows.some((word) => row.includes(word));

const MIXED = { http: 0.6, hang: 0.24, reset: 0.06, login: 0.05, portal: 0.05 };
const GOOD = { http: 0.965, hang: 0.021, reset: 0.014 };
const ALL = { http: 1 };
const CLIENTS = 32;
const LIMIT_MS = 10_000;
const PEER_PORT = '18899';

console.log(`load at the start: ${(await Bun.file('/proc/loadavg').text()).split(' ')[0]}`);
console.log('row | success | p50 ms | p95 ms | dials | foreign | refused | /s | CPU us');

function gateway(farm: BenchFarm, more: readonly string[]): Promise<Subject> {
  const list = ['--list', farm.listFile, '--port', '0', '--allow-private', '--ports', 'any'];
  const judge = ['--judge', farm.judge, '--judge-ca', farm.ca];
  return startSubject([...program, 'gateway', ...list, ...judge, ...more], {
    env: { PROXY_WITNESSES: farm.witness },
    said: /127\.0\.0\.1:(\d+)/,
  });
}

async function measure(
  row: string,
  subject: Subject,
  options: { farm: BenchFarm; url: string; count: number },
): Promise<Driven> {
  const { farm, url, count } = options;
  const [before, cpuBefore] = [await farm.facts(), await subject.cpuMs()];
  const driven = await drive({
    port: subject.port,
    url,
    ca: farm.ca,
    count,
    clients: CLIENTS,
    limitMs: LIMIT_MS,
  });
  const [after, cpuAfter] = [await farm.facts(), await subject.cpuMs()];
  const { success, p50, p95, foreign, refused, perSecond } = driven;
  const dials = (after.dials - before.dials) / count;
  const cpu = ((cpuAfter - cpuBefore) * 1000) / count;
  console.log(
    [
      row,
      `${(success * 100).toFixed(2)} %`,
      p50,
      p95,
      dials.toFixed(2),
      foreign,
      refused,
      perSecond,
      cpu.toFixed(0),
    ].join(' | '),
  );
  return driven;
}

async function learning(
  name: string,
  shares: Partial<Record<FarmRole, number>>,
  scheme: 'http' | 'https',
  start: (farm: BenchFarm) => Promise<Subject>,
): Promise<void> {
  if (!wanted(name)) return;
  const farm = await startBenchFarm(1000, shares);
  const subject = await start(farm);
  const options = { farm, url: farm[scheme], count: 1000 };
  try {
    await measure(`${name}: first 1,000`, subject, options);
    await measure(`${name}: second 1,000`, subject, options);
    await measure(`${name}: after 2,000`, subject, { ...options, count: 2000 });
  } finally {
    await subject.stop();
    await farm.stop();
  }
}

/** Without time to learn, because most peers do not learn. */
async function once(
  name: string,
  scheme: 'http' | 'https',
  start: (farm: BenchFarm) => Promise<Subject>,
): Promise<void> {
  if (!wanted(name)) return;
  const farm = await startBenchFarm(1000, MIXED);
  const subject = await start(farm);
  try {
    await measure(name, subject, { farm, url: farm[scheme], count: 1000 });
  } finally {
    await subject.stop();
    await farm.stop();
  }
}

async function speed(name: string, command: (farm: BenchFarm) => Promise<Subject>): Promise<void> {
  if (!wanted(name)) return;
  const farm = await startBenchFarm(1000, ALL);
  const subject = await command(farm);
  try {
    await measure(`${name}: warming up`, subject, { farm, url: farm.http, count: 5_000 });
    for (let round = 0; round < 3; round++)
      await measure(name, subject, { farm, url: farm.http, count: 5_000 });
  } finally {
    await subject.stop();
    await farm.stop();
  }
}

async function posts(name: string): Promise<void> {
  if (!wanted(name)) return;
  const farm = await startBenchFarm(1000, {
    http: 0.5,
    swallow: 0.2,
    reset: 0.1,
    hang: 0.05,
    login: 0.05,
    sick: 0.05,
    portal: 0.05,
  });
  const subject = await gateway(farm, ['--no-check', '--timeout', '1s']);
  try {
    const { success, perSecond } = await drive({
      port: subject.port,
      url: farm.http,
      ca: farm.ca,
      count: 10_000,
      clients: 64,
      limitMs: LIMIT_MS,
      method: 'POST',
    });
    const facts = await farm.facts();
    console.log(
      `${name} | ${(success * 100).toFixed(1)} % answered, ${facts.posts} seen, ${facts.twice} seen twice | ${perSecond}/s`,
    );
  } finally {
    await subject.stop();
    await farm.stop();
  }
}

const own =
  (...more: string[]) =>
  (farm: BenchFarm) =>
    gateway(farm, more);

await learning('60 % work, https', MIXED, 'https', own('--no-check'));
await learning('60 % work, http', MIXED, 'http', own());
await learning('96.5 % work, https', GOOD, 'https', own('--no-check'));
await learning('96.5 % work, http', GOOD, 'http', own());
await posts('POST, half of the proxies fail');
await speed('all work, GET', own());
for (const peer of options.peer) {
  const [name = '', command = ''] = peer.split(/=(.*)/s);
  const start = (farm: BenchFarm) => {
    const words = command
      .split(' ')
      .map((word) => word.replace('{list}', farm.listFile).replace('{port}', PEER_PORT));
    return startSubject(words, { said: Number(PEER_PORT) });
  };
  for (const scheme of ['https', 'http'] as const) await once(`60 % work, ${scheme}, ${name}`, scheme, start);
  await speed(`all work, GET, ${name}`, start);
}
process.exit();
