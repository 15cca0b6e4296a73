import { writeSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { checkLayers } from './layers.ts';
import { checkOpenApi } from './openapi.ts';
import { runProgram } from './program.ts';
import type { Counts, Failure, Findings, Step } from './step.ts';
import { checkStyle } from './style.ts';

/** The fault tests, which kill, stop and starve whole servers. The quick gate leaves them out. */
export const FAULTS = 'test/faults';

/** Steps that follow each other. They take the processor while the tests beside them wait. */
export const steps: Record<string, Step> = {
  'format and lint': {
    reads: 'files',
    least: 1000,
    async run(out) {
      const { stdout, stderr, exitCode } = await runProgram(
        ['bun', 'x', 'biome', 'ci', '--colors=off', '.'],
        out,
      );
      return outcome(exitCode === 0, Number(/^Checked (\d+) files/m.exec(stdout + stderr)?.[1] ?? 0));
    },
  },
  types: types('.', 1000),
  // All three see a browser's globals, which nothing else should.
  'types of scripts in pages': types('src/web/client', 25),
  'types of tests of pages': types('test/web', 300),
  'types of the client': types('clients/js', 5),
  'layers and sizes': check('files', 500, checkLayers),
  style: check('texts', 700, checkStyle),
  openapi: check('operations', 80, checkOpenApi),
  'tests on deno': suite(50, (report, files = ['test/deno']) => [
    ...['deno', 'test', '-A', '--no-check', `--junit-path=${report}`, ...files],
  ]),
};

/** How long each file of tests took: the slow ones begin first, so that none runs alone at the end. */
const TIMINGS = '--timings=test/timings.json';

/** Steps that run at the same time as the others, one after another. */
export const longSteps: Record<string, Step> = {
  // Most files spend most of their time waiting.
  'tests on bun': bunTests(
    3000,
    ...['--parallel=5', TIMINGS],
    ...[`--path-ignore-patterns=${FAULTS}/**`, '--path-ignore-patterns=test/deno/**'],
  ),
  // Four at a time, most of which wait, so that a slow test shows the fault and not the load of others.
  [`${FAULTS} on bun`]: bunTests(80, '--parallel=4', TIMINGS, FAULTS),
};

function check(reads: string, least: number, find: () => Promise<Findings>): Step {
  return {
    reads,
    least,
    async run(out) {
      const { read, faults } = await find();
      for (const fault of faults) writeSync(out, `${fault}\n`);
      return outcome(faults.length === 0, read);
    },
  };
}

/** Threads would check what they share once each, while tests need the processor. */
const TSC = ['bun', 'x', 'tsc', '--noEmit', '--singleThreaded', '--pretty', 'false'];

/** Checks the types of a TypeScript project. */
function types(project: string, least: number): Step {
  return {
    reads: 'files',
    least,
    async run(out) {
      const args = [...TSC, '--listFiles', '-p', project];
      const isFile = (line: string) => line.startsWith('/');
      const { stdout, exitCode } = await runProgram(args, out, (line) => !isFile(line));
      const files = stdout.split('\n').filter((line) => isFile(line) && !line.includes('/node_modules/'));
      return outcome(exitCode === 0, files.length);
    },
  };
}

function bunTests(least: number, ...args: string[]): Step {
  // Concurrent tests of one file would slow down others that wait for an answer in time.
  const shared = ['--max-concurrency=4', '--timeout=180000', '--reporter=junit'];
  const command = (report: string, files: readonly string[] = args) => [
    ...['bun', 'test', ...files, ...shared, `--reporter-outfile=${report}`],
  ];
  return suite(least, async (report, files, out) => {
    if (files) return command(report, files);
    await compile(out);
    // One Redis, Postgres and S3 server for all files, and not for each.
    return ['bun', 'scripts/services.ts', ...command(report)];
  });
}

function outcome(passed: boolean, read: number): Counts {
  return { passed: passed ? 1 : 0, failed: passed ? 0 : 1, skipped: 0, read };
}

let fetched: Promise<unknown> | undefined;

/** Fetches what tests run beside picpool, while the steps that need none of it are under way. */
function counterparts(out: number): Promise<unknown> {
  fetched ??= runProgram(['sh', 'scripts/counterparts'], out);
  return fetched;
}

/** Compiles the program that whole suites start: it is what users run, and starts in a third of the source's time. */
async function compile(out: number): Promise<void> {
  if (process.env.PICPOOL_BINARY) return;
  const { exitCode } = await runProgram(['bun', 'scripts/build.ts'], out);
  if (exitCode !== 0) throw new Error('The program cannot be compiled.');
  const binary = resolve('dist/picpool');
  process.env.PICPOOL_BINARY = binary;
  // It writes its libraries to where servers of all tests find them.
  await runProgram(['env', '-u', 'XDG_CACHE_HOME', 'DATA_DIR=/dev/null', binary, 'convert-worker']);
}

/** Runs a test runner and reads its counts. A runner that dies without a report is a failure. */
function suite(
  least: number,
  args: (report: string, files: readonly string[] | undefined, out: number) => string[] | Promise<string[]>,
): Step {
  return {
    reads: 'tests',
    least,
    async run(out, files) {
      await counterparts(out);
      const scratch = await mkdtemp(join(tmpdir(), 'picpool-report-'));
      try {
        const report = join(scratch, 'report.xml');
        const { exitCode } = await runProgram(await args(report, files, out), out);
        return read(await readFile(report, 'utf8').catch(() => ''), exitCode);
      } finally {
        await rm(scratch, { recursive: true });
      }
    },
  };
}

function read(xml: string, exitCode: number): Counts {
  const cases = xml.match(/<testcase\b[^>]*?(\/>|>[\s\S]*?<\/testcase>)/g) ?? [];
  const failures = cases.filter((text) => /<(failure|error)\b/.test(text)).map(identify);
  const skipped = cases.filter((text) => /<skipped\b/.test(text)).length;
  const passed = cases.length - failures.length - skipped;
  if (exitCode !== 0 && failures.length === 0) {
    failures.push({ file: '', name: `the runner, which ended with ${exitCode}`, reason: [] });
  }
  return { passed, failed: failures.length, skipped, read: cases.length, failures };
}

const REASON_LINES = 8;
const ENTITIES: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  '#10': '\n',
  '#27': '',
};

/** Reads `<testcase name="..." file="...">`, or `classname` for the file, and the `message` of its failure. */
function identify(testcase: string): Failure {
  const attribute = (name: string) =>
    (testcase.match(new RegExp(`\\b${name}="([^"]*)"`))?.[1] ?? '').replace(
      /&(#?\w+);/g,
      (entity, name: string) => ENTITIES[name] ?? entity,
    );
  const said = attribute('message').split('\n');
  return {
    file: attribute('file') || attribute('classname'),
    name: attribute('name'),
    reason: said.filter((line) => line.trim() !== '').slice(0, REASON_LINES),
  };
}
