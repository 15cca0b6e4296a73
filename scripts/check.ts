/**
 * The one gate: format and lint, types, layers and sizes, API description, tests on Bun and on Deno. Runs every
 * step even after a failure and ends with the counts of what ran. Arguments choose steps by name; `all` adds the
 * tests of faults, which kill, stop and starve whole servers for minutes.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkLayers } from './layers.ts';
import { writeDescriptions } from './openapi.ts';

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  /** The tests that failed, by name, so that the end of a long log tells which. */
  failures?: string[];
}

/** Where the tests of faults are, which the quick gate leaves out. */
const FAULTS = 'test/faults';

const scratch = await mkdtemp(join(tmpdir(), 'picpool-check-'));

const steps: Record<string, () => Promise<Counts>> = {
  'format and lint': () => command('bun', 'x', 'biome', 'ci', '.'),
  types: () => command('bun', 'x', 'tsc', '--noEmit'),
  // All three see a browser's globals, which nothing else should.
  'types of scripts in pages': () => command('bun', 'x', 'tsc', '--noEmit', '-p', 'src/web/client'),
  'types of tests of pages': () => command('bun', 'x', 'tsc', '--noEmit', '-p', 'test/web'),
  'types of the client': () => command('bun', 'x', 'tsc', '--noEmit', '-p', 'clients/js'),
  'layers and sizes': async () => {
    const faults = await checkLayers();
    for (const fault of faults) console.log(fault);
    return outcome(faults.length === 0);
  },
  openapi: async () => {
    const files = await writeDescriptions(scratch);
    return command(
      'bun',
      '--bun',
      'x',
      'redocly',
      'lint',
      '--extends',
      'recommended',
      '--max-problems',
      '50',
      ...files,
    );
  },
  'tests on bun': () =>
    bunTests('--parallel=3', `--path-ignore-patterns=${FAULTS}/**`, '--path-ignore-patterns=test/deno/**'),
  'tests on deno': () =>
    suite((report) => ['deno', 'test', '-A', '--no-check', `--junit-path=${report}`, 'test/deno']),
  // Two at a time: what a fault costs is to be seen, not what the neighbours' load does.
  [`${FAULTS} on bun`]: () => bunTests('--parallel=2', FAULTS),
};

function bunTests(...args: string[]): Promise<Counts> {
  // Concurrent tests of one file would take the processor from those that wait for an answer in time.
  const shared = ['--max-concurrency=4', '--timeout=180000', '--reporter=junit'];
  return suite((report) => ['bun', 'test', ...args, ...shared, `--reporter-outfile=${report}`]);
}

function outcome(passed: boolean): Counts {
  return { passed: passed ? 1 : 0, failed: passed ? 0 : 1, skipped: 0 };
}

async function spawn(args: string[]): Promise<number> {
  const child = Bun.spawn(args, {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  });
  return child.exited;
}

async function command(...args: string[]): Promise<Counts> {
  return outcome((await spawn(args)) === 0);
}

/** Runs a test runner and reads what it counted; one that dies without a report is a failure. */
async function suite(args: (report: string) => string[]): Promise<Counts> {
  const report = join(scratch, `report-${crypto.randomUUID()}.xml`);
  const exitCode = await spawn(args(report));
  const xml = await readFile(report, 'utf8').catch(() => '');
  const cases = xml.match(/<testcase\b[^>]*?(\/>|>[\s\S]*?<\/testcase>)/g) ?? [];
  const failures = cases.filter((text) => /<(failure|error)\b/.test(text)).map(nameOf);
  const skipped = cases.filter((text) => /<skipped\b/.test(text)).length;
  if (exitCode !== 0 && failures.length === 0) failures.push(`the runner, which ended with ${exitCode}`);
  return { passed: cases.length - failures.length - skipped, failed: failures.length, skipped, failures };
}

/** File and name of a test of the report, as `<testcase name="..." file="...">` has them. */
function nameOf(testcase: string): string {
  const attribute = (name: string) => testcase.match(new RegExp(`\\b${name}="([^"]*)"`))?.[1] ?? '';
  return [attribute('file') || attribute('classname'), attribute('name')].filter(Boolean).join(': ');
}

const chosen = process.argv.slice(2);
const isChosen = (name: string) =>
  chosen.length === 0
    ? !name.startsWith(FAULTS)
    : chosen.some((word) => word === 'all' || name.includes(word));
const total: Counts = { passed: 0, failed: 0, skipped: 0 };
const summary: string[] = [];
for (const [name, run] of Object.entries(steps)) {
  if (!isChosen(name)) continue;
  console.log(`\n── ${name}`);
  const startedAt = performance.now();
  const counts = await run().catch((error: unknown) => {
    console.error(error);
    return outcome(false);
  });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  summary.push(`${counts.failed === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)`);
  for (const failure of counts.failures ?? []) summary.push(`     ${failure}`);
  for (const key of ['passed', 'failed', 'skipped'] as const) total[key] += counts[key];
}
await rm(scratch, { recursive: true });

// On a machine of its own, a counterpart that is missing must not pass for a test that ran.
const skipsForbidden = process.env.CI === 'true' && total.skipped > 0;
if (skipsForbidden) total.failed += total.skipped;
console.log(`\n${summary.join('\n')}\n`);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exit(total.failed > 0 ? 1 : 0);
