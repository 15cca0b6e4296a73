import { afterAll, beforeAll, expect, test } from 'bun:test';
import { appendFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { copyTree } from '../../scripts/mutate/copy-tree.ts';

/** What each step must find, and where it is planted. */
const VIOLATIONS: { step: string; file: string; text: string; found: string }[] = [
  {
    step: 'format and lint',
    file: 'src/lib/planted.ts',
    text: 'let  unused=1\n',
    found: 'src/lib/planted.ts',
  },
  {
    step: 'types',
    file: 'src/lib/typed.ts',
    text: "export const n: number = 'a';\n",
    found: 'src/lib/typed.ts',
  },
  {
    step: 'types of scripts in pages',
    file: 'src/web/client/docs.js',
    text: '\n/** @type {number} */ export const planted = "a";\n',
    found: 'src/web/client/docs.js',
  },
  {
    step: 'types of tests of pages',
    file: 'test/web/planted.ts',
    text: "export const n: number = 'a';\n",
    found: 'test/web/planted.ts',
  },
  {
    step: 'types of the client',
    file: 'clients/js/src/index.ts',
    text: "\nexport const planted: number = 'a';\n",
    found: 'clients/js/src/index.ts',
  },
  {
    step: 'layers and sizes',
    file: 'src/lib/outward.ts',
    text: "import type { ProxyRecord } from '../proxy/proxy.ts';\nexport type Planted = ProxyRecord;\n",
    found: 'src/lib/outward.ts: must not import src/proxy/proxy.ts',
  },
  {
    step: 'layers and sizes',
    file: 'adapters/filesystem/picture.ts',
    text: "import sharp from 'sharp';\nexport const planted = sharp;\n",
    found: 'adapters/filesystem/picture.ts: uses sharp',
  },
  {
    step: 'layers and sizes',
    file: 'clients/js/src/long.ts',
    text: '//\n'.repeat(401),
    found: 'clients/js/src/long.ts: 401 lines',
  },
  {
    step: 'layers and sizes',
    file: 'src/http/circle.ts',
    text: "export type { Planted } from './circle.ts';\n",
    found: 'imports in a circle: src/http/circle.ts',
  },
  { step: 'style', file: 'README.md', text: '\nThe file is no JPEG.\n', found: 'README.md:' },
  { step: 'style', file: 'bench/README.md', text: '\nThe file is no JPEG.\n', found: 'bench/README.md:' },
  { step: 'style', file: 'adapters/open.ts', text: '\n// It is built anew.\n', found: 'adapters/open.ts:' },
  {
    step: 'style',
    file: 'test/support/json.ts',
    text: '\n// It is built anew.\n',
    found: 'test/support/json.ts:',
  },
];

/** Tests that no step needs for finding what is planted elsewhere. */
const LEFT_OUT = ['adapters', 'api', 'conformance', 'deno', 'e2e', 'faults', 'unit'];

/** A file of tests for each runner. */
const SUITES = ['test/unit/planted.test.ts', 'test/deno/planted.test.ts'];
/** What they share, as conformance suites do: a test that fails, and one that is skipped. */
const FAILING = `export function plant(test) {
  test('a planted test fails', () => { throw new Error('planted'); });
  test.skip('a planted test is skipped', () => {});
}
`;

let tree = '';

beforeAll(async () => {
  tree = await copyTree(process.cwd());
  await Promise.all(LEFT_OUT.map((folder) => rm(join(tree, 'test', folder), { recursive: true })));
});
afterAll(() => rm(tree, { recursive: true }));

/** Runs the gate in the copy, and returns all that it says. */
async function gate(...args: string[]): Promise<{ said: string; exitCode: number }> {
  const child = Bun.spawn(['bun', 'scripts/check.ts', ...args], {
    cwd: tree,
    env: { ...process.env, CI: 'true' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { said: said.join('\n'), exitCode: await child.exited };
}

test('each step of the gate finds a violation that is planted where it reads', async () => {
  for (const { file, text } of VIOLATIONS) await appendFile(join(tree, file), text);
  // The description of an answer gets a field that its example lacks.
  const schemas = join(tree, 'src/proxy/schemas.ts');
  const text = await Bun.file(schemas).text();
  const changed = text.replace(/filtersSchema = named\(.*\{/, "$& planted: integer('Planted.'),");
  expect(changed).not.toBe(text);
  await writeFile(schemas, changed);

  const { said, exitCode } = await gate('format', 'types', 'layers', 'style', 'openapi');
  for (const { step, found } of VIOLATIONS) {
    expect(said).toContain(`FAIL ${step}: `);
    expect(said).toContain(found);
  }
  expect(said).toContain('FAIL openapi: ');
  expect(said).toMatch(/openapi\.json .* no-invalid-media-type-examples/);
  expect(said).toMatch(/0 passed, \d+ failed, 0 skipped/);
  expect(exitCode).toBe(1);
});

test('a failed test fails the gate on both runtimes, and so does a skipped one in CI', async () => {
  const imports = ["import { test } from 'bun:test';", "import { test } from 'node:test';"];
  const planted = "import { plant } from '../support/plant.ts'; plant(test);";
  await Bun.write(join(tree, 'test/support/plant.ts'), FAILING);
  await Promise.all(SUITES.map((file, n) => Bun.write(join(tree, file), `${imports[n]}${planted}`)));
  for (const file of SUITES) {
    const { said, exitCode } = await gate(file);
    expect(said).toContain('a planted test fails');
    expect(said).toMatch(/0 passed, 2 failed, 1 skipped/);
    expect(exitCode).toBe(1);
  }
});

test('a suite that runs no test fails the gate', async () => {
  await Promise.all(SUITES.map((file) => rm(join(tree, file), { force: true })));
  await Bun.write(join(tree, 'test/deno/nothing.test.ts'), '\n');
  const { said, exitCode } = await gate('deno');
  expect(said).toMatch(/FAIL tests on deno: 0 tests/);
  expect(exitCode).toBe(1);
});

test('a word that names no step fails the gate', async () => {
  const { said, exitCode } = await gate('laysers');
  expect(said).toContain('No step of the gate has a name with laysers.');
  expect(exitCode).toBe(1);
});

test('a step that finds nothing to read fails the gate', async () => {
  await rm(join(tree, 'clients/js/src'), { recursive: true });
  await rm(join(tree, 'bench'), { recursive: true });
  const { said, exitCode } = await gate('layers', 'style');
  expect(said).toContain('no file matches clients/js/src/**/*.ts');
  expect(said).toContain('no file matches bench/*.md');
  expect(said).toContain('0 passed, 2 failed');
  expect(exitCode).toBe(1);
});
