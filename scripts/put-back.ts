/**
 * Puts faults that picpool once had back, one at a time, in a copy of the tree, and looks whether they are found.
 *
 *     bun scripts/put-back.ts [--seeds 1000] [WORD...]
 *
 * Those with proofs of their own need what `scripts/loss.ts` and `bench/fleet.ts` need.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { FAULTS } from '../test/world/faults.ts';
import { copyTree } from './mutate/copy-tree.ts';

const { values, positionals: words } = parseArgs({
  allowPositionals: true,
  options: { seeds: { type: 'string', default: '1000' } },
});
const root = resolve(import.meta.dir, '..');
const worlds = (name: string) => ['test/world/main.ts', name, '--first', '--seeds', values.seeds];
const wanted = FAULTS.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
if (wanted.length === 0) throw new Error(`No fault is named ${words.join(' or ')}.`);

let missed = 0;
for (const { name, changes, proof: wished = 'images' as const } of wanted) {
  const proof = Array.isArray(wished) ? wished : worlds(wished);
  const folder = await copyTree(root);
  try {
    for (const { file, from, to } of changes) {
      const path = join(folder, file);
      const text = await readFile(path, 'utf8');
      if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
      await writeFile(
        path,
        text.replace(from, () => to),
      );
    }
    const child = Bun.spawn([process.execPath, ...proof], { cwd: folder, stdout: 'pipe', stderr: 'pipe' });
    const [said, cause] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    const found = said.split('\n').filter((line) => /^(seed \d+| {5}| {2}WRONG)/.test(line));
    const isFound = (await child.exited) !== 0 && found.length > 0;
    if (!isFound) missed++;
    console.log(`${isFound ? 'found ' : 'MISSED'}  ${name}: bun ${proof.join(' ')}`);
    for (const line of isFound ? found.slice(0, 2) : [said, cause]) console.log(line.slice(0, 2000));
  } finally {
    await rm(folder, { recursive: true });
  }
}
console.log(`${wanted.length - missed} of ${wanted.length} faults were found`);
process.exit(missed > 0 ? 1 : 0);
