/**
 * Runs simulated worlds, and says which of them broke a promise to users.
 *
 *     bun test/world/main.ts [images | pool | bytes] [--from 1] [--seeds 100] [--only 1,2] [--first | --until-broken] [--twice] [--with '{"users":1}'] [--trace] [--count]
 *
 * `--until-broken` ends with the first broken world; `--first` also looks for the simplest one that is broken as well; `--twice`
 * runs each seed twice and compares; `--with` changes what the seed decides; `--trace` prints what happened, `--count` how often each promise was examined.
 */
import { parseArgs } from 'node:util';
import { type Result, WORLDS } from './run.ts';
import { realTime } from './time.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    from: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '100' },
    only: { type: 'string' },
    with: { type: 'string', default: '{}' },
    first: { type: 'boolean', default: false },
    'until-broken': { type: 'boolean', default: false },
    twice: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    count: { type: 'boolean', default: false },
  },
});
type Run = (seed: number, changes: Record<string, unknown>) => Promise<Result<Record<string, unknown>>>;
const [name = 'images'] = positionals;
const runWorld = WORLDS[name as keyof typeof WORLDS] as unknown as Run;
const MADE: Record<string, string> = { images: 'pictures', pool: 'proxies', bytes: 'inputs' };
/** So many worlds leave nothing out. */
const MANY = 20;
const seeds =
  values.only?.split(',').map(Number) ??
  Array.from({ length: Number(values.seeds) }, (_, index) => Number(values.from) + index);
const changes = JSON.parse(values.with) as Record<string, unknown>;
const begun = realTime();
let [run, broken, made] = [0, 0, 0];
const examined: Record<string, number> = {};
for (const seed of seeds) {
  const result = await runWorld(seed, changes);
  run++;
  made += result.made;
  for (const [promise, times] of Object.entries(result.examined ?? {})) {
    examined[promise] = (examined[promise] ?? 0) + times;
  }
  if (values.twice && (await runWorld(seed, changes)).hash !== result.hash) {
    result.broken.push('the same seed is another world');
  }
  if (values.trace) console.log(result.trace.join('\n'));
  if (result.broken.length === 0) continue;
  broken++;
  tell(result);
  if (values['until-broken']) break;
  if (!values.first) continue;
  await simplify(result);
  break;
}
for (const [promise, times] of run < MANY ? [] : Object.entries(examined)) {
  if (times > 0) continue;
  broken++;
  console.log(`no promise of what is ${promise} was examined`);
}
if (values.count) console.log(JSON.stringify(examined));
const seconds = ((realTime() - begun) / 1000).toFixed(1);
console.log(`${run} worlds with ${made} ${MADE[name]} in ${seconds} s, ${broken} broken`);
process.exit(broken > 0 ? 1 : 0);

function tell({ seed, options, broken: promises }: Result<unknown>): void {
  console.log(`seed ${seed} ${JSON.stringify(options)}`);
  for (const promise of promises.slice(0, 5)) console.log(`     ${promise}`);
}

/** Takes out of a broken world whatever is not needed to break it, and prints what is left. */
async function simplify(found: Result<Record<string, unknown>>): Promise<void> {
  let [simplest, without] = [found, changes];
  const trouble = (found.options.trouble ?? {}) as Record<string, number>;
  const simpler: Record<string, unknown>[] = [
    { deathEveryMs: 1e12 },
    { halfway: 0 },
    { bursts: 0 },
    { jumpMs: 0 },
    { copies: 1 },
    { copies: 2 },
    { users: 1 },
    { users: 2 },
    { clients: 1 },
    { clients: 3 },
    { clients: 10 },
    ...Object.keys(trouble).map((kind) => ({ trouble: kind })),
    ...[0.1, 0.3, 0.6].map((share) => ({ chaosMs: share * Number(found.options.chaosMs) })),
  ];
  for (const one of simpler) {
    const kinds = { ...trouble, ...(without.trouble as object), [String(one.trouble)]: 0 };
    const tried = { ...without, ...one, ...(one.trouble !== undefined && { trouble: kinds }) };
    const result = await runWorld(found.seed, tried);
    if (result.broken.length > 0 && result.trace.length < simplest.trace.length)
      [simplest, without] = [result, tried];
  }
  const args = `${name} --from ${found.seed} --seeds 1 --trace --with '${JSON.stringify(without)}'`;
  console.log(`simplest: bun test/world/main.ts ${args}`);
  tell(simplest);
  const [, id = ''] = /\((\w{12})\)/.exec(simplest.broken[0] ?? '') ?? [];
  const about = simplest.trace.filter((line) => id !== '' && line.includes(id));
  for (const line of about) console.log(`     ${line.slice(0, 160)}`);
}
