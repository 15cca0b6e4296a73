/**
 * Runs simulated worlds, and says which of them broke a promise to users.
 *
 *     bun test/world/main.ts [--from 1] [--seeds 100] [--first] [--twice] [--with '{"users":1}'] [--trace]
 *
 * `--first` ends with the first broken world, and looks for the simplest one that is broken as well; `--twice` runs each seed
 * twice and compares; `--with` changes what the seed decides; `--trace` prints what happened.
 */
import { parseArgs } from 'node:util';
import { type Options, type Result, runWorld } from './run.ts';
import { realTime } from './time.ts';

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '100' },
    with: { type: 'string', default: '{}' },
    first: { type: 'boolean', default: false },
    twice: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
  },
});
const changes = JSON.parse(values.with) as Partial<Options>;
const begun = realTime();
let [run, broken, uploads] = [0, 0, 0];
for (let seed = Number(values.from); run < Number(values.seeds); seed++) {
  const result = await runWorld(seed, changes);
  run++;
  uploads += result.uploads;
  if (values.twice && (await runWorld(seed, changes)).hash !== result.hash) {
    result.broken.push('the same seed is another world');
  }
  if (values.trace) console.log(result.trace.join('\n'));
  if (result.broken.length === 0) continue;
  broken++;
  tell(result);
  if (!values.first) continue;
  await simplify(result);
  break;
}
const seconds = ((realTime() - begun) / 1000).toFixed(1);
console.log(`${run} worlds with ${uploads} pictures in ${seconds} s, ${broken} broken`);
process.exit(broken > 0 ? 1 : 0);

function tell({ seed, options, broken: promises }: Result): void {
  console.log(`seed ${seed} ${JSON.stringify(options)}`);
  for (const promise of promises.slice(0, 5)) console.log(`     ${promise}`);
}

/** Takes out of a broken world whatever is not needed to break it, and prints what is left. */
async function simplify(found: Result): Promise<void> {
  let [simplest, without]: [Result, Partial<Options>] = [found, changes];
  const { trouble } = found.options;
  const simpler: Partial<Options>[] = [
    { deathEveryMs: Number.POSITIVE_INFINITY },
    { jumpMs: 0 },
    { copies: 1 },
    { copies: 2 },
    { users: 1 },
    { users: 2 },
    ...Object.keys(trouble).map((kind) => ({ trouble: { ...trouble, [kind]: 0 } })),
    ...[0.1, 0.3, 0.6].map((share) => ({ chaosMs: share * found.options.chaosMs })),
  ];
  for (const one of simpler) {
    const merged = {
      ...without,
      ...one,
      ...(one.trouble && without.trouble && { trouble: { ...without.trouble } }),
    };
    if (one.trouble) {
      for (const [kind, rate] of Object.entries(one.trouble)) {
        if (rate === 0) merged.trouble = { ...(merged.trouble ?? trouble), [kind]: 0 };
      }
    }
    const result = await runWorld(found.seed, merged);
    if (result.broken.length > 0 && result.trace.length < simplest.trace.length)
      [simplest, without] = [result, merged];
  }
  console.log(
    `simplest: bun test/world/main.ts --from ${found.seed} --seeds 1 --trace --with '${JSON.stringify(without)}'`,
  );
  tell(simplest);
  const [, id = ''] = /\((\w{12})\)/.exec(simplest.broken[0] ?? '') ?? [];
  for (const line of simplest.trace.filter((one) => id !== '' && one.includes(id)))
    console.log(`     ${line.slice(0, 160)}`);
}
