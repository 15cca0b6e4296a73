/**
 * The gate: format and lint, types, layers and sizes, API description, tests on Bun and on Deno. Runs every step even
 * after a failure, and ends with the counts. Arguments select steps by name; `all` adds the fault tests, which kill,
 * stop and starve whole servers for minutes.
 */
import { openSync, writeSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkLayers } from './layers.ts';
import { writeDescriptions } from './openapi.ts';

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  /** The failed tests of a suite, which are shown at the end of a long log. */
  failures?: Failure[];
}

interface Failure {
  file: string;
  name: string;
}

/** The fault tests, which the quick gate leaves out. */
const FAULTS = 'test/faults';

/** More files than this do not fail by chance, so that nothing is learnt from running them again. */
const MOST_FILES_AGAIN = 5;

const STDOUT = 1;

/** How a step went. */
interface Result {
  name: string;
  run: Step;
  counts: Counts;
  seconds: string;
}

const scratch = await mkdtemp(join(tmpdir(), 'picpool-check-'));

/** Writes what it and its programs say to the file descriptor. Suites can be limited to some of their files. */
type Step = (out: number, files?: string[]) => Promise<Counts>;

/** Steps that follow each other. They take the processor while the tests beside them wait. */
const steps: Record<string, Step> = {
  'format and lint': command('bun', 'x', 'biome', 'ci', '.'),
  types: command('bun', 'x', 'tsc', '--noEmit'),
  // All three see a browser's globals, which nothing else should.
  'types of scripts in pages': command('bun', 'x', 'tsc', '--noEmit', '-p', 'src/web/client'),
  'types of tests of pages': command('bun', 'x', 'tsc', '--noEmit', '-p', 'test/web'),
  'types of the client': command('bun', 'x', 'tsc', '--noEmit', '-p', 'clients/js'),
  'layers and sizes': async (out) => {
    const faults = await checkLayers();
    for (const fault of faults) writeSync(out, `${fault}\n`);
    return outcome(faults.length === 0);
  },
  openapi: async (out) => {
    const files = await writeDescriptions(scratch);
    const rules = ['--extends', 'recommended', '--max-problems', '50'];
    return command('bun', '--bun', 'x', 'redocly', 'lint', ...rules, ...files)(out);
  },
  'tests on deno': suite((report, files = ['test/deno']) => [
    ...['deno', 'test', '-A', '--no-check', `--junit-path=${report}`, ...files],
  ]),
};

/** Steps that run at the same time as the others, one after another. */
const longSteps: Record<string, Step> = {
  // Most files spend most of their time waiting. The slow ones begin first, so that none runs alone at the end.
  'tests on bun': bunTests(
    ...['--parallel=4', '--timings=test/timings.json'],
    ...[`--path-ignore-patterns=${FAULTS}/**`, '--path-ignore-patterns=test/deno/**'],
  ),
  // Two at a time, so that a slow test shows the fault and not the load of others.
  [`${FAULTS} on bun`]: bunTests('--parallel=2', FAULTS),
};

function bunTests(...args: string[]): Step {
  // Concurrent tests of one file would slow down others that wait for an answer in time.
  const shared = ['--max-concurrency=4', '--timeout=180000', '--reporter=junit'];
  return suite((report, files = args) => [
    'bun',
    'test',
    ...files,
    ...shared,
    `--reporter-outfile=${report}`,
  ]);
}

function outcome(passed: boolean): Counts {
  return { passed: passed ? 1 : 0, failed: passed ? 0 : 1, skipped: 0 };
}

function spawn(args: string[], out: number): Promise<number> {
  const child = Bun.spawn(args, {
    stdio: ['ignore', out, out],
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  });
  return child.exited;
}

function command(...args: string[]): Step {
  return async (out) => outcome((await spawn(args, out)) === 0);
}

/** Runs a test runner and reads its counts. A runner that dies without a report is a failure. */
function suite(args: (report: string, files?: string[]) => string[]): Step {
  return async (out, files) => {
    const report = join(scratch, `report-${crypto.randomUUID()}.xml`);
    return read(report, await spawn(args(report, files), out));
  };
}

async function read(report: string, exitCode: number): Promise<Counts> {
  const xml = await readFile(report, 'utf8').catch(() => '');
  const cases = xml.match(/<testcase\b[^>]*?(\/>|>[\s\S]*?<\/testcase>)/g) ?? [];
  const failures = cases.filter((text) => /<(failure|error)\b/.test(text)).map(identify);
  const skipped = cases.filter((text) => /<skipped\b/.test(text)).length;
  if (exitCode !== 0 && failures.length === 0) {
    failures.push({ file: '', name: `the runner, which ended with ${exitCode}` });
  }
  return { passed: cases.length - failures.length - skipped, failed: failures.length, skipped, failures };
}

/** Reads `<testcase name="..." file="...">`, or `classname` for the file. */
function identify(testcase: string): Failure {
  const attribute = (name: string) => testcase.match(new RegExp(`\\b${name}="([^"]*)"`))?.[1] ?? '';
  return { file: attribute('file') || attribute('classname'), name: attribute('name') };
}

/** Runs one after the other those that were chosen. `aside`: what a step says is shown when it has ended. */
async function runAll(which: Record<string, Step>, aside: boolean): Promise<void> {
  for (const [name, run] of Object.entries(which)) {
    if (!isChosen(name)) continue;
    const file = join(scratch, `${crypto.randomUUID()}.log`);
    const out = aside ? openSync(file, 'a') : STDOUT;
    if (!aside) console.log(`\n── ${name}`);
    const startedAt = performance.now();
    const counts = await run(out).catch((error: unknown) => {
      console.error(error);
      return outcome(false);
    });
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    if (aside) console.log(`\n── ${name}\n${await readFile(file, 'utf8')}`);
    results.push({ name, run, counts, seconds });
  }
}

/**
 * Runs the files of failed tests again when nothing else runs. What fails only beside other tests is unsteady: it is
 * named, and counts as passed.
 */
async function runFailedAgain({ name, run, counts }: Result): Promise<string[]> {
  const failures = counts.failures ?? [];
  const files = [...new Set(failures.map(({ file }) => file))];
  if (files.length === 0 || files.length > MOST_FILES_AGAIN || files.includes('')) return [];
  console.log(`\n── ${name}: failed tests again, alone`);
  const again = await run(
    STDOUT,
    files.map((file) => `./${file.replace(/^\.\//, '')}`),
  );
  // A runner that crashed says nothing about single tests.
  if (again.failures?.some(({ file }) => file === '')) return [];
  counts.passed += counts.failed - again.failed;
  counts.failed = again.failed;
  counts.failures = again.failures ?? [];
  const failedAgain = new Set(counts.failures.map(describe));
  return failures.map(describe).filter((text) => !failedAgain.has(text));
}

function describe({ file, name }: Failure): string {
  return [file, name].filter(Boolean).join(': ');
}

const chosen = process.argv.slice(2);
const isChosen = (name: string) =>
  chosen.length === 0
    ? !name.startsWith(FAULTS)
    : chosen.some((word) => word === 'all' || name.includes(word));
const results: Result[] = [];
await Promise.all([runAll(steps, true), runAll(longSteps, false)]);

const total: Counts = { passed: 0, failed: 0, skipped: 0 };
const summary: string[] = [];
for (const result of results) {
  const unsteady = await runFailedAgain(result);
  const { name, counts, seconds } = result;
  summary.push(`${counts.failed === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)`);
  for (const failure of counts.failures ?? []) summary.push(`     ${describe(failure)}`);
  for (const text of unsteady) summary.push(`     unsteady, passed alone: ${text}`);
  for (const key of ['passed', 'failed', 'skipped'] as const) total[key] += counts[key];
}
await rm(scratch, { recursive: true });

// In CI, a missing counterpart must not count as a test that ran.
const skipsForbidden = process.env.CI === 'true' && total.skipped > 0;
if (skipsForbidden) total.failed += total.skipped;
console.log(`\n${summary.join('\n')}\n`);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exit(total.failed > 0 ? 1 : 0);
