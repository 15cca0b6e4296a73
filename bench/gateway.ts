/**
 * The gateway against a farm of proxies of which a part works: success, times, dials, what of the proxies' own pages reached
 * the client, and which exits the target saw: how many, the share of the busiest, and its share of the worst hundred
 * visits in a row, which a spread in total alone would not keep low. `bun bench/gateway.ts [--runtime deno] [--peer NAME=COMMAND] [row ...]` measures the rows whose names contain the words;
 * a peer is a program that serves a proxy on `{port}` over the list in the file `{list}`.
 */
import { parseArgs } from 'node:util';
import { type FarmRole, TRAITORS } from '../test/support/gateway/farm.ts';
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
const ALL_CLIENTS = 32;
const LIMIT_MS = 10_000;
const PEER_PORT = '18899';

console.log(`load at the start: ${(await Bun.file('/proc/loadavg').text()).split(' ')[0]}`);
console.log(
  'row | success | p50 ms | p95 ms | dials | arrivals | foreign | refused | /s | CPU us | exits, busiest',
);

function gateway(farm: BenchFarm, more: readonly string[]): Promise<Subject> {
  const list = ['--list', farm.listFile, '--port', '0', '--allow-private', '--ports', 'any'];
  const judge = ['--judge', farm.judge, '--judge-ca', farm.ca];
  return startSubject([...program, 'gateway', ...list, ...judge, ...more], {
    env: { PROXY_WITNESSES: farm.witness },
    said: /127\.0\.0\.1:(\d+)/,
  });
}

interface Row {
  farm: BenchFarm;
  url: string;
  count: number;
  clients?: number;
  user?: (n: number) => string;
}

/** Returns the number of exits, the share of the busiest, and the most that one got of a hundred visits in a row. */
function spreadOf(exits: readonly string[]): string {
  const busiest = (some: readonly string[]) =>
    Math.max(0, ...[...Map.groupBy(some, (exit) => exit).values()].map(({ length }) => length));
  const worst = exits.map((_, at) => (at % 50 === 0 ? busiest(exits.slice(at, at + 100)) : 0));
  const share = (busiest(exits) / Math.max(1, exits.length)) * 100;
  return `${new Set(exits).size}, ${share.toFixed(1)} %, ${Math.max(0, ...worst)} of 100`;
}

async function measure(row: string, subject: Subject, options: Row): Promise<Driven & { exits: string[] }> {
  const { farm, url, count, clients = ALL_CLIENTS, user } = options;
  const [before, cpuBefore] = [await farm.facts(), await subject.cpuMs()];
  const driven = await drive({
    port: subject.port,
    url,
    ca: farm.ca,
    count,
    clients,
    limitMs: LIMIT_MS,
    ...(user && { user }),
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
      (after.exits.length / count).toFixed(2),
      foreign,
      refused,
      perSecond,
      cpu.toFixed(0),
      spreadOf(after.exits),
    ].join(' | '),
  );
  return { ...driven, exits: after.exits };
}

/** Measures over a farm, in a gateway of its own. */
async function within(
  row: string,
  {
    count,
    shares = ALL,
    more = ['--no-check'],
    honest = false,
  }: { count: number; shares?: typeof ALL | Record<string, number>; more?: string[]; honest?: boolean },
  run: (subject: Subject, farm: BenchFarm) => Promise<void>,
): Promise<void> {
  if (!wanted(row)) return;
  const farm = await startBenchFarm(count, shares, honest);
  const subject = await gateway(farm, more);
  try {
    await run(subject, farm);
  } finally {
    await subject.stop();
    await farm.stop();
  }
}

/** How traffic spreads, against the choice of the fastest. */
async function rotation(): Promise<void> {
  for (const scheme of ['https', 'http'] as const) {
    for (const rotate of ['spread', 'random', 'fast']) {
      const row = `rotate-${rotate}, ${scheme}, 200 exits`;
      await within(row, { count: 200 }, async (subject, farm) => {
        const asked = { farm, url: farm[scheme], user: () => `u-rotate-${rotate}` };
        await measure(`${row}: 30 one by one`, subject, { ...asked, count: 30, clients: 1 });
        await measure(`${row}: 1,000 by 16`, subject, { ...asked, count: 1000, clients: 16 });
      });
    }
  }
  for (const count of [10, 50, 200]) {
    const row = `one by one, ${count} exits`;
    await within(row, { count }, async (subject, farm) => {
      await measure(row, subject, { farm, url: farm.https, count: 10 * count, clients: 1 });
    });
  }
  for (const count of [60, 200]) {
    const row = `a site that refuses an exit after 20 a minute, ${count} exits`;
    await within(row, { count }, async (subject, farm) => {
      await measure(row, subject, { farm, url: `${farm.https}/limited`, count: 1000, clients: 16 });
    });
  }
  const row = '60 sessions on 200 exits, twice each';
  await within(row, { count: 200 }, async (subject, farm) => {
    for (const name of ['a', 'b']) {
      const clients = name === 'a' ? 1 : 30;
      const asked = { farm, url: farm.https, count: 60, clients };
      for (const _ of [1, 2])
        await measure(`${row}, ${clients} at once`, subject, {
          ...asked,
          user: (n) => `u-session-${name}${n}`,
        });
    }
  });
}

async function coldStarts(): Promise<void> {
  for (const [name, more] of [
    ['never checked', ['--no-check']],
    ['being checked', []],
  ] as const) {
    const row = `cold start, 60 % work, http, ${name}`;
    for (let start = 0; start < 20; start++) {
      await within(row, { count: 1000, shares: MIXED, more: [...more] }, async (subject, farm) => {
        await measure(row, subject, { farm, url: farm.http, count: 1000 });
      });
    }
  }
}

/** Clients' failures, when traitors are so from the start, after a burst of good traffic, or although a check has passed them. */
async function hostile(): Promise<void> {
  for (const [bad, count] of [
    [1, 10],
    [3, 60],
    [3, 100],
  ] as const) {
    for (const traitor of TRAITORS) {
      const shares = { [traitor]: bad / count, http: 1 - bad / count };
      for (const when of ['cold', 'after a burst', 'checked']) {
        const row = `hostile, ${bad} of ${count}, ${traitor}, ${when}`;
        const more = when === 'checked' ? [] : ['--no-check'];
        await within(row, { count, shares, more, honest: when !== 'cold' }, async (subject, farm) => {
          if (when === 'after a burst') await drive({ ...target(subject, farm), count: 200, clients: 16 });
          if (when === 'checked') await Bun.sleep(2_000);
          await farm.turn();
          const { success } = await drive({ ...target(subject, farm), count: 1000, clients: 8 });
          console.log(`${row} | ${Math.round((1 - success) * 1000)} failures`);
        });
      }
    }
  }
}

const target = (subject: Subject, farm: BenchFarm) =>
  ({ port: subject.port, url: farm.https, ca: farm.ca, limitMs: LIMIT_MS }) as const;

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

await rotation();
await coldStarts();
await hostile();
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
