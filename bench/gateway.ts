/**
 * The gateway against a farm of proxies of which a part works: success, times, connections to proxies, arrivals at the target
 * and pages of proxies that reached the client; and which exits the target saw: how many, the share of the busiest, and
 * the most that one got of a hundred visits in a row, which a spread in total alone would not keep low. `rotate-fast` beside
 * `rotate-spread` shows what the spread costs. `bun bench/gateway.ts [--runtime deno] [--peer NAME=COMMAND] [row ...]`
 * measures the rows whose names contain the words; a peer is a program that serves a proxy on `{port}` over the list in
 * the file `{list}`.
 */
import { parseArgs } from 'node:util';
import { type FarmRole, TRAITORS } from '../test/support/gateway/farm.ts';
import { type DriveOptions, drive } from './gateway/drive.ts';
import { type BenchFarm, programOf, type Subject, startBenchFarm, startSubject } from './gateway/world.ts';

const { values: options, positionals: rows } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  options: {
    runtime: { type: 'string', default: 'bun' },
    peer: { type: 'string', multiple: true, default: [] },
  },
});

type Shares = Partial<Record<FarmRole, number>>;
const MIXED: Shares = { http: 0.6, hang: 0.24, reset: 0.06, login: 0.05, portal: 0.05 };
const GOOD: Shares = { http: 0.965, hang: 0.021, reset: 0.014 };
const ALL: Shares = { http: 1 };
const FAILING: Shares = {
  http: 0.5,
  swallow: 0.2,
  reset: 0.1,
  hang: 0.05,
  login: 0.05,
  sick: 0.05,
  portal: 0.05,
};
const SCHEMES = ['https', 'http'] as const;
const PEER_PORT = '18899';

console.log(`load at the start: ${(await Bun.file('/proc/loadavg').text()).split(' ')[0]}`);
console.log(
  'row | success | p50 ms | p95 ms | dials | arrivals | foreign | refused | /s | CPU us | exits, busiest',
);

interface World {
  farm: BenchFarm;
  subject: Subject;
  /** Sends requests to the target, unless told otherwise over https. */
  ask: (count: number, more?: Partial<DriveOptions>) => ReturnType<typeof drive>;
  /** Does so and prints a row. */
  measure: (row: string, count: number, more?: Partial<DriveOptions>) => Promise<void>;
}

interface Setup {
  count?: number;
  shares?: Shares;
  /** More options of the gateway. */
  more?: readonly string[];
  /** Whether `picpool check` has passed the list on. */
  checked?: boolean;
  /** Starts a program in place of the gateway. */
  start?: (farm: BenchFarm) => Promise<Subject>;
  /** Whether traitors are honest until they turn. */
  honest?: boolean;
  /** Whether tunnels of the exits take 150 to 1,750 ms. */
  uneven?: boolean;
}

/** Measures over a farm of its own, if the row is wanted. */
async function within(row: string, setup: Setup, run: (world: World) => Promise<void>): Promise<void> {
  if (rows.length > 0 && !rows.some((word) => row.includes(word))) return;
  const { count = 1000, shares = ALL, start } = setup;
  const farm = await startBenchFarm(count, shares, setup);
  const subject = await (start?.(farm) ?? gateway(farm, setup));
  const ask: World['ask'] = (asked, others) => {
    const standard = { port: subject.port, url: farm.https, ca: farm.ca, clients: 32, limitMs: 10_000 };
    return drive({ ...standard, count: asked, ...others });
  };
  async function measure(name: string, asked: number, others?: Partial<DriveOptions>): Promise<void> {
    const [before, cpuBefore] = [await farm.facts(), await subject.cpuMs()];
    const { success, p50, p95, foreign, refused, perSecond } = await ask(asked, others);
    const [{ dials, exits }, cpuAfter] = [await farm.facts(), await subject.cpuMs()];
    const per = (all: number, digits: number) => (all / asked).toFixed(digits);
    const work = [per(dials - before.dials, 2), per(exits.length, 2), foreign, refused, perSecond];
    const cpu = per((cpuAfter - cpuBefore) * 1000, 0);
    const share = `${(success * 100).toFixed(2)} %`;
    console.log([name, share, p50, p95, ...work, cpu, spreadOf(exits)].join(' | '));
  }
  try {
    await run({ farm, subject, ask, measure });
  } finally {
    await subject.stop();
    await farm.stop();
  }
}

async function gateway(farm: BenchFarm, { checked, more = [] }: Setup): Promise<Subject> {
  const program = programOf(options.runtime);
  if (checked) {
    const judge = [
      '--judge',
      farm.judge,
      '--judge-ca',
      farm.ca,
      '--allow-private',
      '--protocol',
      'https',
      '--format',
      'url',
    ];
    const env = { ...process.env, PROXY_WITNESSES: farm.witness };
    const check = Bun.spawn([...program, 'check', farm.listFile, ...judge], { env, stderr: 'ignore' });
    await Bun.write(farm.listFile, await new Response(check.stdout).text());
  }
  const list = ['--list', farm.listFile, '--port', '0', '--allow-private', '--ports', 'any'];
  return startSubject([...program, 'gateway', ...list, ...more], { said: /127\.0\.0\.1:(\d+)/ });
}

function spreadOf(exits: readonly string[]): string {
  const busiest = (some: readonly string[]) =>
    Math.max(0, ...[...Map.groupBy(some, (exit) => exit).values()].map(({ length }) => length));
  const worst = exits.map((_, at) => (at % 50 === 0 ? busiest(exits.slice(at, at + 100)) : 0));
  const share = (busiest(exits) / Math.max(1, exits.length)) * 100;
  return `${new Set(exits).size}, ${share.toFixed(1)} %, ${Math.max(0, ...worst)} of 100`;
}

for (const scheme of SCHEMES) {
  for (const rotate of ['spread', 'random', 'fast']) {
    const row = `rotate-${rotate}, ${scheme}, 200 exits`;
    await within(row, { count: 200 }, async ({ farm, measure }) => {
      const asked = { url: farm[scheme], user: () => `u-rotate-${rotate}` };
      await measure(`${row}: 30 one by one`, 30, { ...asked, clients: 1 });
      await measure(`${row}: 1,000 by 16`, 1000, { ...asked, clients: 16 });
    });
  }
}
for (const rotate of ['spread', 'fast']) {
  const row = `rotate-${rotate}, 200 exits that take 150 to 1,750 ms`;
  await within(row, { count: 200, uneven: true }, async ({ measure }) => {
    for (const time of ['first', 'second'])
      await measure(`${row}, ${time} 1,000`, 1000, { user: () => `u-rotate-${rotate}` });
  });
}
for (const count of [10, 50, 200]) {
  const row = `one by one, ${count} exits`;
  await within(row, { count }, ({ measure }) => measure(row, 10 * count, { clients: 1 }));
}
for (const count of [60, 200]) {
  const row = `a site that refuses an exit after 20 a minute, ${count} exits`;
  await within(row, { count }, ({ farm, measure }) =>
    measure(row, 1000, { url: `${farm.https}/limited`, clients: 16 }),
  );
}
for (const clients of [1, 30]) {
  const row = `60 sessions on 200 exits, ${clients} at once`;
  await within(row, { count: 200 }, async ({ measure }) => {
    for (const time of ['first', 'again'])
      await measure(`${row}, ${time}`, 60, { clients, user: (n) => `u-session-a${n}` });
  });
}
for (let start = 1; start <= 20; start++) {
  const row = `cold start ${start}, 60 % work, http`;
  await within(row, { shares: MIXED }, ({ farm, measure }) => measure(row, 1000, { url: farm.http }));
}
/** Failures of clients, when traitors are so from the start, after good traffic, or although a check has passed them. */
for (const [bad, count] of [[1, 10] as const, [3, 60] as const, [3, 100] as const]) {
  for (const traitor of TRAITORS) {
    for (const when of ['cold', 'after a burst', 'checked']) {
      const row = `hostile, ${bad} of ${count}, ${traitor}, ${when}`;
      const shares = { [traitor]: bad / count, http: 1 - bad / count };
      const setup = { count, shares, checked: when === 'checked', honest: when !== 'cold' };
      await within(row, setup, async ({ farm, ask }) => {
        if (when === 'after a burst') await ask(200, { clients: 16 });
        await farm.turn();
        const { success } = await ask(1000, { clients: 8 });
        console.log(`${row} | ${Math.round((1 - success) * 1000)} failures`);
      });
    }
  }
}
for (const [name, shares] of [['60 % work', MIXED] as const, ['96.5 % work', GOOD] as const]) {
  for (const scheme of SCHEMES) {
    const row = `${name}, ${scheme}`;
    await within(row, { shares }, async ({ farm, measure }) => {
      await measure(`${row}: first 1,000`, 1000, { url: farm[scheme] });
      await measure(`${row}: second 1,000`, 1000, { url: farm[scheme] });
      await measure(`${row}: after 2,000`, 2000, { url: farm[scheme] });
    });
  }
}
const posts = 'POST, half of the proxies fail';
await within(posts, { shares: FAILING, more: ['--timeout', '1s'] }, async ({ farm, measure }) => {
  await measure(posts, 10_000, { url: farm.http, method: 'POST', clients: 64 });
  const facts = await farm.facts();
  console.log(`${posts} | ${facts.posts} seen, ${facts.twice} seen twice`);
});

async function speed(row: string, setup: Setup): Promise<void> {
  for (const scheme of SCHEMES) {
    await within(`${row}, ${scheme}`, setup, async ({ farm, measure }) => {
      for (let round = 0; round < 4; round++)
        await measure(`${row}, ${scheme}, round ${round}`, 5_000, { url: farm[scheme] });
    });
  }
}
await speed('all work', {});
for (const peer of options.peer) {
  const [name = '', command = ''] = peer.split(/=(.*)/s);
  const start = (farm: BenchFarm) => {
    const words = command
      .split(' ')
      .map((word) => word.replace('{list}', farm.listFile).replace('{port}', PEER_PORT));
    return startSubject(words, { said: Number(PEER_PORT) });
  };
  for (const scheme of SCHEMES) {
    const row = `60 % work, ${scheme}, ${name}`;
    await within(row, { shares: MIXED, start }, ({ farm, measure }) =>
      measure(row, 1000, { url: farm[scheme] }),
    );
  }
  await speed(`all work, ${name}`, { start });
}
process.exit();
