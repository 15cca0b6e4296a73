/**
 * The gate: format and lint, types, layers and sizes, style, API description, tests on Bun and on Deno. Runs every step
 * even after a failure, and ends with the counts. Arguments select steps by words of their names, or name the only
 * files of tests to run. `all` adds the fault tests, which take minutes.
 */
import { openSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Counts, Failure, Step } from './gate/step.ts';
import { FAULTS, longSteps, steps } from './gate/steps.ts';

const STDOUT = 1;

/** How a step went. */
interface Result {
  name: string;
  step: Step;
  counts: Counts;
  seconds: string;
}

const scratch = await mkdtemp(join(tmpdir(), 'picpool-check-'));

/** Runs one after the other those that were chosen. `aside`: what a step says is shown when it has ended. */
async function runAll(which: Record<string, Step>, aside: boolean): Promise<void> {
  for (const [name, step] of Object.entries(which)) {
    if (!isChosen(name, step)) continue;
    const file = join(scratch, `${crypto.randomUUID()}.log`);
    const out = aside ? openSync(file, 'a') : STDOUT;
    if (!aside) console.log(`\n── ${name}`);
    const startedAt = performance.now();
    const counts = await step
      .run(out, files.length > 0 ? files : undefined)
      .catch((error: unknown): Counts => {
        console.error(`${name}:`, error);
        return { passed: 0, failed: 1, skipped: 0, read: 0 };
      });
    if (files.length === 0 && counts.failed === 0 && counts.read < step.least) {
      counts.failed = 1;
      counts.failures = [{ file: '', name: `it read fewer than ${step.least} ${step.reads}`, reason: [] }];
    }
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    if (aside) console.log(`\n── ${name}\n${await readFile(file, 'utf8')}`);
    results.push({ name, step, counts, seconds });
  }
}

function describe({ file, name, reason }: Failure): string {
  const title = [file, name].filter(Boolean).join(': ');
  return [title, ...reason].join('\n       ');
}

const chosen = process.argv.slice(2);
/** Files of tests, if only these are to run. */
const files = chosen.filter((word) => word.endsWith('.test.ts')).map((file) => `./${file}`);
const isChosen = (name: string, { reads }: Step) => {
  if (files.length > 0)
    return reads === 'tests' && name.includes(files[0]?.includes('test/deno/') ? 'deno' : 'tests on bun');
  if (chosen.length === 0) return !name.startsWith(FAULTS);
  return chosen.some((word) => word === 'all' || name.includes(word));
};
const results: Result[] = [];
await Promise.all([runAll(steps, true), runAll(longSteps, false)]);
// A misspelt word would otherwise pass.
if (results.length === 0) {
  await rm(scratch, { recursive: true });
  console.error(`No step of the gate has a name with ${chosen.join(' or ')}.`);
  process.exit(1);
}

const total = { passed: 0, failed: 0, skipped: 0 };
const summary: string[] = [];
for (const result of results) {
  const { name, step, counts, seconds } = result;
  const verdict = counts.failed === 0 ? 'ok  ' : 'FAIL';
  summary.push(`${verdict} ${name}: ${counts.read} ${step.reads} (${seconds} s)`);
  for (const failure of counts.failures ?? []) summary.push(`     ${describe(failure)}`);
  for (const key of ['passed', 'failed', 'skipped'] as const) total[key] += counts[key];
}
await rm(scratch, { recursive: true });

// In CI, a missing counterpart must not count as a test that ran.
const skipsForbidden = process.env.CI === 'true' && total.skipped > 0;
if (skipsForbidden) total.failed += total.skipped;
console.log(`\n${summary.join('\n')}\n`);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exit(total.failed > 0 ? 1 : 0);
