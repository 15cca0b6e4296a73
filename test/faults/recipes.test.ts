import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { copyTree } from '../../scripts/mutate/copy-tree.ts';

/** A text that goes in front of another one in a file, or begins a new file. */
type Edit = readonly [file: string, text: string, before?: string];

/** What CONTRIBUTING says to do, recipe by recipe, and nothing else. */
const RECIPES: Record<string, readonly Edit[]> = {
  'Adding a command': [
    [
      'src/cli/planted.ts',
      `import { defineCommand } from './command.ts';
import { EXIT } from './exit.ts';

export const command = defineCommand({
  about: 'Says that it was planted.',
  options: {},
  async run({ terminal }) {
    terminal.say('It was planted.');
    return EXIT.done;
  },
});
`,
    ],
    [
      'src/cli/commands.ts',
      "  planted: { summary: 'say that it was planted', load: () => import('./planted.ts') },\n",
      '};\n',
    ],
  ],
  'Adding a source of proxies': [
    [
      'src/proxy/sources/catalogue.ts',
      "  { name: 'planted', url: 'https://example.com/planted.txt', format: 'lines', lists: { '': 'http' }, terms: 'MIT' },\n",
      '];\n\n/** The built-in lists',
    ],
  ],
  'Adding an endpoint': [
    [
      'src/proxy/routes.ts',
      "    route('GET /api/planted', () => plant(shared)),\n",
      "    route('GET /api/status',",
    ],
    [
      'src/proxy/routes.ts',
      'async function plant({ service }: Shared): Promise<Response> {\n  return unkept({ planted: (await service.stats()).planted });\n}\n\n',
      'async function showProxy(',
    ],
  ],
  'Adding a statistic of the pool': [
    [
      'src/proxy/pool/stats.ts',
      "  planted: { schema: integer('Planted.'), example: 3, of: () => 3 },\n",
      '} satisfies Record',
    ],
  ],
  'Adding a field to a record': [
    [
      'src/proxy/proxy.ts',
      '  /** What was planted. */\n  planted: number;\n',
      '  /** The results of the latest checks',
    ],
    ['src/proxy/fields.ts', "  planted: { kind: 'integer', added: 7 },\n", '};\n\nconst FIELDS'],
    [
      'adapters/sqlite/schema.ts',
      '  [`ALTER TABLE proxies ADD COLUMN planted INTEGER NOT NULL DEFAULT 7`],\n',
      '];\n',
    ],
    [
      'adapters/postgres/schema.ts',
      `  (table) => [\`ALTER TABLE \${table('proxies')} ADD COLUMN planted bigint NOT NULL DEFAULT 7\`],\n`,
      '];\n\n/** The oldest program',
    ],
    ['src/proxy/pool/history.ts', '    planted: record?.planted ?? 7,\n', '    recent: withCheck('],
    ['test/support/stores/records.ts', '    planted: 8,\n', '    recent: 0b1110,\n'],
    ['src/proxy/schemas.ts', "  planted: integer('Planted.'),\n", '  recent_checks:'],
    ['src/proxy/views.ts', '    planted: record.planted,\n', '    recent_checks:'],
    ['src/proxy/descriptions.ts', '  planted: 7,\n', '  recent_checks:'],
    ['clients/js/src/types.ts', '  planted: number;\n', '  /** Up to 30 latest checks'],
    ['clients/python/src/picpool/_types.py', '    planted: int\n', '    recent_checks: str\n'],
  ],
};

/** Sees each of them work in the copy. */
const SEEN = `import { expect, test } from 'bun:test';
import { draft } from '../support/pool/pool.ts';
import { createPoolServer } from '../support/pool/server.ts';
import { CATALOGUE } from '../../src/proxy/sources/catalogue.ts';

test('what was planted is there', async () => {
  const server = await createPoolServer();
  await server.store.save([draft('http://192.0.2.1:80', server.clock.now())]);
  expect(await server.get('/api/planted')).toMatchObject({ planted: 3 });
  expect(await server.get('/api/stats')).toMatchObject({ planted: 3 });
  expect(await server.get('/api/v1/proxies')).toMatchObject({ proxies: [{ planted: 8 }] });
  expect(CATALOGUE.some(({ name }) => name === 'planted')).toBe(true);
  await server.close();
});
`;

let tree = '';
beforeAll(async () => {
  tree = await copyTree(process.cwd());
  const contributing = await Bun.file('CONTRIBUTING.md').text();
  for (const [title, edits] of Object.entries(RECIPES)) {
    expect(contributing).toContain(`## ${title}\n`);
    for (const [file, text, before] of edits) await apply(file, text, before);
  }
  await Bun.write(join(tree, 'test/api/planted.test.ts'), SEEN);
});
afterAll(() => rm(tree, { recursive: true }));

async function apply(file: string, text: string, before?: string): Promise<void> {
  const path = join(tree, file);
  if (before === undefined) return void (await Bun.write(path, text));
  const whole = await Bun.file(path).text();
  const place = whole.lastIndexOf(before);
  expect(`${file} has ${before}: ${place >= 0}`).toEndWith('true');
  await Bun.write(path, whole.slice(0, place) + text + whole.slice(place));
}

async function run(...command: string[]): Promise<string> {
  const child = Bun.spawn(command, { cwd: tree, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return `${said.join('')}exit code ${await child.exited}`;
}

test('the recipes of CONTRIBUTING work as they stand', async () => {
  expect(await run('bun', 'x', 'tsc', '--noEmit', '--singleThreaded')).toBe('exit code 0');
  const schemas = await run('bun', 'test', './test/unit/released-steps.test.ts');
  // The recipe says that this test prints the line for the new step.
  const hashes = [...schemas.matchAll(/^\+\s+"([0-9a-f]{16})",?$/gm)].map(([, hash]) => hash);
  expect(hashes.length).toBe(2);
  const tests = ['test/api/planted.test.ts', 'test/adapters/sqlite.test.ts', 'test/api/openapi.test.ts'];
  expect(await run('bun', 'test', ...tests.map((file) => `./${file}`))).toEndWith('exit code 0');
  expect(await run('bun', 'src/main.ts', 'planted')).toBe('It was planted.\nexit code 0');
});
