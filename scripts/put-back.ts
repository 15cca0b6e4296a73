/**
 * Puts faults that picpool once had back, one at a time, in a copy of the tree, and looks whether they are found.
 *
 *     bun scripts/put-back.ts [--seeds 1000] [--write] [WORD...]
 *
 * `--write` notes in `docs/put-back.md` by what they were found. Those with proofs of their own need what `scripts/loss.ts` and the
 * tests of real stores need.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type PutBack, WORLDS } from '../test/world/faults/fault.ts';
import { FAULTS } from '../test/world/faults/index.ts';
import { copyTree } from './mutate/copy-tree.ts';

const { values, positionals: words } = parseArgs({
  allowPositionals: true,
  options: { seeds: { type: 'string', default: '1000' }, write: { type: 'boolean', default: false } },
});
const root = resolve(import.meta.dir, '..');
/** How the lines begin that say what was found. */
const SIGNS = /^(seed \d+| {5}|LOST|\(fail\))/;
const TABLE = join(root, 'docs/put-back.md');
const wanted = FAULTS.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
if (wanted.length === 0) throw new Error(`No fault is named ${words.join(' or ')}.`);

let missed = 0;
for (const fault of wanted) {
  const folder = await copyTree(root);
  try {
    await putBack(fault, folder);
    const found = await look(fault, folder);
    if (found.by === null) missed++;
    console.log(`${found.by === null ? 'MISSED' : 'found '}  ${fault.name}: ${found.by ?? ''}`);
    console.log(found.said);
    if (values.write) await note(fault.name, found.by);
  } finally {
    await rm(folder, { recursive: true });
  }
}
console.log(`${wanted.length - missed} of ${wanted.length} faults were found`);
process.exit(missed > 0 ? 1 : 0);

async function putBack({ changes }: PutBack, folder: string): Promise<void> {
  for (const [file, from, to] of changes) {
    const path = join(folder, file);
    const text = await readFile(path, 'utf8');
    if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
    await writeFile(
      path,
      text.replace(from, () => to),
    );
  }
}

/** Returns the command that finds the fault, or `null`, and what it says. */
async function look({ proof }: PutBack, folder: string): Promise<{ by: string | null; said: string }> {
  if (typeof proof !== 'string') return run(proof, folder);
  const world = ['test/world/main.ts', ...WORLDS[proof]];
  const end = Number(values.seeds);
  for (let seed = 1; ; seed++) {
    const range = ['--from', String(seed), '--seeds', String(end + 1 - seed)];
    const found = await run([...world, '--until-broken', ...range], folder);
    if (found.seed === undefined) return { by: null, said: found.said };
    seed = Number(found.seed);
    const one = [...world, '--from', found.seed, '--seeds', '1'];
    // What is broken without the fault as well does not find it.
    if ((await run(one, root)).by === null)
      return { by: named([...WORLDS[proof], '--from', found.seed]), said: found.said };
  }
}

/** Returns arguments as they are typed into a shell. */
function named(args: readonly string[]): string {
  return args.join(' ').replace(/\{.*\}/, (json) => `'${json}'`);
}

async function run(
  args: readonly string[],
  folder: string,
): Promise<{ by: string | null; said: string; seed?: string | undefined }> {
  const child = Bun.spawn([process.execPath, ...args], { cwd: folder, stdout: 'pipe', stderr: 'pipe' });
  const [said, cause] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  const [first, why = ''] = `${said}\n${cause}`.split('\n').filter((line) => SIGNS.test(line));
  if ((await child.exited) === 0 || first === undefined)
    return { by: null, said: (said + cause).slice(-2000) };
  const seed = /^seed (\d+)/.exec(first)?.[1];
  return { by: named(args), said: `${first}\n${why}`.slice(0, 1000), seed };
}

/** Writes one row of the table. The others stay. */
async function note(name: string, by: string | null): Promise<void> {
  const text = await readFile(TABLE, 'utf8').catch(() => '');
  const rows = new Map(
    text.split('\n').flatMap((line) => {
      const [, fault, found] = /^\| (.*) \| `(.*)` \|$/.exec(line) ?? [];
      return fault && found ? [[fault, found] as const] : [];
    }),
  );
  if (by === null) rows.delete(name);
  else rows.set(name, by);
  const lines = FAULTS.flatMap((fault) => {
    const found = rows.get(fault.name);
    return found ? [`| ${fault.name} | \`${found}\` |`] : [];
  });
  const head = await readFile(TABLE, 'utf8').catch(() => '');
  const about = head.slice(0, head.indexOf('| fault |'));
  await writeFile(TABLE, `${about}| fault | found by |\n|---|---|\n${lines.join('\n')}\n`);
}
