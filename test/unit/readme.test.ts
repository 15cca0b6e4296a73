import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { filesOf } from '../../scripts/gate/files.ts';
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

/** The anchors of a document, as GitHub makes them from its headings. */
async function anchorsOf(file: string): Promise<string[]> {
  const headings = (await Bun.file(file).text()).match(/^#+ .*$/gm) ?? [];
  return headings.map((heading) =>
    heading
      .replace(/^#+ /, '')
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
}

test('every link of a document to another file leads to it, and to a heading that it has', async () => {
  const broken: string[] = [];
  for (const file of filesOf('*.md', 'bench/*.md', 'docs/**/*.md', 'clients/*/*.md')) {
    for (const [, link = ''] of (await Bun.file(file).text()).matchAll(/\]\((?!\w+:)([^)\s]+)\)/g)) {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? file : join(dirname(file), path);
      const found =
        existsSync(target) && (anchor === undefined || (await anchorsOf(target)).includes(anchor));
      if (!found) broken.push(`${file}: ${link}`);
    }
  }
  expect(broken).toEqual([]);
});

test('every file and folder of the project that a document names exists', async () => {
  const missing: string[] = [];
  for (const file of filesOf('*.md', 'bench/*.md', 'docs/**/*.md').filter(
    (file) => file !== 'CHANGELOG.md',
  )) {
    const named = (await Bun.file(file).text()).matchAll(
      /`((?:src|adapters|test|bench|scripts|clients|examples|docs)\/[\w./-]+)[` ]/g,
    );
    for (const [, path = ''] of named) if (!existsSync(path)) missing.push(`${file}: ${path}`);
  }
  expect(missing).toEqual([]);
});
