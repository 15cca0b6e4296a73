import { expect, test } from 'bun:test';
import { settings } from '../../src/config.ts';

/** The table that the document must hold: one row a setting, from the schema itself. */
function configurationTable(): string {
  const rows = Object.entries(settings).map(([variable, schema]) => {
    const fallback = schema.default === undefined ? '' : `\`${schema.default}\``;
    return `| \`${variable}\` | ${fallback === '``' ? '' : fallback} | ${schema.description} |`;
  });
  return ['| variable | default | meaning |', '|---|---|---|', ...rows].join('\n');
}

test('the table of settings is the one that the schema gives', async () => {
  const document = await Bun.file('docs/settings.md').text();
  expect(document).toContain(configurationTable());
});

test('a clone is one command away from its first page, and two from a request through a proxy', async () => {
  const readme = await Bun.file('README.md').text();
  const section = (title: string) => readme.split(`## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
  const [start, ...others] = section('Install').match(/^ {4}\S.*$/gm) ?? [];
  expect(others).toEqual([]);
  expect(start).toMatch(/^ {4}GATEWAY_PORT=8899 \.\/scripts\/start +# http:\/\/localhost:3000/);
  const [first] = section('Use the proxies').match(/^\$ .*$/gm) ?? [];
  expect(first).toBe('$ curl -x http://localhost:8899 https://example.com/');
});
