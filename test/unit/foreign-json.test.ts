import { describe, expect, test } from 'bun:test';
import { parseForeignJson } from '../../src/lib/foreign-json.ts';

/** What these read was written by this program: state, its own processes and its own answers. */
const READS_ITS_OWN = [
  'adapters/redis/audit.ts',
  'adapters/redis/schema.ts',
  'adapters/sqlite/image-search.ts',
  'src/access/sessions.ts',
  'src/access/tokens.ts',
  'src/access/usage.ts',
  'src/admin/cases.ts',
  'src/audit/audit.ts',
  'src/cli/copy-records.ts',
  'src/codec/workers/worker.ts',
  'src/http/dialect.ts',
  'src/http/openapi.ts',
  'src/image/albums/invites.ts',
  'src/image/image.ts',
  'src/image/maintenance/quarantine.ts',
  'src/image/maintenance/service-time.ts',
  'src/image/maintenance/unfinished.ts',
  'src/image/pages/image-page.ts',
  'src/image/review/reviews.ts',
  'src/image/views.ts',
  'src/lib/key-ring.ts',
  'src/mcp/routes.ts',
  'src/mcp/server.ts',
  'src/moderation/blocks.ts',
  'src/proxy/check/fleet-budget.ts',
  'src/proxy/discovery/pass.ts',
  'src/proxy/pool/history.ts',
  'src/proxy/pool/pool-history.ts',
  'src/proxy/refresh/progress.ts',
  'src/proxy/refresh/source-health.ts',
  'src/proxy/targets/shared-sites.ts',
];

describe('JSON that somebody else wrote', () => {
  test.each([
    ['an object with arrays', '{"a":[1,{"b":null}]}', { a: [1, { b: null }] }],
    ['brackets inside strings', `{"a":"${'['.repeat(99)}"}`, { a: '['.repeat(99) }],
    ['escaped quotes before brackets', `["\\"${'['.repeat(99)}","\\\\"]`, [`"${'['.repeat(99)}`, '\\']],
    [
      'sixteen levels',
      `${'['.repeat(16)}${']'.repeat(16)}`,
      JSON.parse(`${'['.repeat(16)}${']'.repeat(16)}`),
    ],
    ['many siblings', `[${'[],'.repeat(9)}[]]`, Array(10).fill([])],
  ])('is read: %s', (_name, text, value) => {
    expect(parseForeignJson(text)).toEqual(value);
  });

  test.each([
    ['seventeen levels', `${'['.repeat(17)}${']'.repeat(17)}`, 'more than 16 levels deep'],
    ['levels of both kinds', `${'[{"a":'.repeat(9)}1${'}]'.repeat(9)}`, 'more than 16 levels deep'],
    ['levels that no bracket ends', '{"a":'.repeat(17), 'more than 16 levels deep'],
    [
      'levels after a string with a backslash at its end',
      `["\\\\",${'['.repeat(16)}`,
      'more than 16 levels deep',
    ],
    ['more than 64 Ki characters', JSON.stringify('a'.repeat(65_536)), 'longer than 65536 characters'],
    ['a string without an end', '["', 'JSON'],
  ])('is refused: %s', (_name, text, reason) => {
    expect(() => parseForeignJson(text)).toThrow(reason);
  });

  test('has no more names than it may have', () => {
    const text = '[{"a":"b:c","d":1},{"a":2}]';
    expect(parseForeignJson(text, { maxNames: 3 })).toEqual(JSON.parse(text));
    expect(() => parseForeignJson(text, { maxNames: 2 })).toThrow('more than 2 names');
  });
});

test('no other file parses JSON from elsewhere', async () => {
  const found: string[] = [];
  for (const file of new Bun.Glob('{src,adapters}/**/*.ts').scanSync('.')) {
    if (file.startsWith('src/web/client/') || file === 'src/lib/foreign-json.ts') continue;
    const code = (await Bun.file(file).text()).replaceAll(/\/\*[\s\S]*?\*\//g, '');
    if (/\bJSON\.parse\(|\.json\(\)/.test(code)) found.push(file);
  }
  expect(found.sort()).toEqual(READS_ITS_OWN);
});
