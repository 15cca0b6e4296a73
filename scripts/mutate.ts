/**
 * Changes the modules that decide, one small thing at a time, and counts the changes that the tests notice.
 *
 *   bun scripts/mutate.ts [WORD...]     only the modules whose path contains one of the words
 *
 * Prints a table and every change that no test noticed. Not a part of the gate: it takes minutes a module.
 */
import { rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { copyTree } from './mutate/copy-tree.ts';
import { findMutants, type Mutant } from './mutate/mutants.ts';
import { TESTS } from './mutate/tests.ts';

/** A change that makes an endless loop counts as noticed, but so does a busy machine: such changes are counted apart. */
const TIMEOUT_MS = 60_000;

const root = resolve(import.meta.dir, '..');
const words = process.argv.slice(2);
const modules = Object.keys(TESTS).filter(
  (path) => words.length === 0 || words.some((word) => path.includes(word)),
);
if (modules.length === 0) throw new Error(`No module's path contains ${words.join(' or ')}.`);

const rows: string[] = [];
const survivors: string[] = [];
let late = 0;
const copies = await Promise.all(Array.from({ length: availableParallelism() }, () => copyTree(root)));
try {
  for (const [file, mutants] of await findMutants(root, modules)) {
    const { killed, survived } = await judge(file, mutants);
    const score = ((100 * killed) / Math.max(1, mutants.length)).toFixed(0);
    rows.push(`| \`${file}\` | ${mutants.length} | ${killed} | ${score} % |`);
    survivors.push(...survived);
    console.error(rows.at(-1));
  }
} finally {
  for (const copy of copies) await rm(copy, { recursive: true });
}
console.log(['| module | changes | noticed | |', '|---|---|---|---|', ...rows].join('\n'));
console.log(`\nNoticed because the tests did not end within ${TIMEOUT_MS / 1000} s: ${late}`);
if (survivors.length > 0) console.log(`\nNot noticed:\n${survivors.join('\n')}`);

async function judge(file: string, mutants: readonly Mutant[]) {
  const text = await Bun.file(join(root, file)).text();
  const tests = TESTS[file] ?? [];
  const [first = root] = copies;
  if ((await outcomeOf(first, tests)) !== 'passed')
    throw new Error(`The tests of ${file} fail without any change.`);
  const waiting = [...mutants];
  const survived: { mutant: Mutant; words: string }[] = [];
  let killed = 0;
  await Promise.all(
    copies.map(async (copy) => {
      for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) {
        const { start, end, replacement, line } = mutant;
        await writeFile(join(copy, file), text.slice(0, start) + replacement + text.slice(end));
        const outcome = await outcomeOf(copy, tests);
        if (outcome === 'late') late++;
        if (outcome === 'passed') {
          const before = text.slice(start, end).replace(/\s+/g, ' ').slice(0, 60);
          survived.push({
            mutant,
            words: `${file}:${line}: \`${before}\` as \`${replacement.slice(0, 60)}\``,
          });
        } else killed++;
      }
      await writeFile(join(copy, file), text);
    }),
  );
  survived.sort((a, b) => a.mutant.start - b.mutant.start);
  return { killed, survived: survived.map((each) => each.words) };
}

async function outcomeOf(folder: string, tests: readonly string[]): Promise<'passed' | 'failed' | 'late'> {
  const child = Bun.spawn(['bun', 'test', '--bail', '--timeout=20000', ...tests], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'ignore'],
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  if ((await child.exited) === 0) return 'passed';
  return child.signalCode === 'SIGKILL' ? 'late' : 'failed';
}
