import { expect, test } from 'bun:test';
import { settings } from '../../src/config.ts';

/** The table that the document must hold: one row a setting, from the schema itself. */
function configurationTable(): string {
  const rows = Object.entries(settings.properties).map(([variable, schema]) => {
    const fallback = schema.default === undefined ? '' : `\`${schema.default}\``;
    return `| \`${variable}\` | ${fallback === '``' ? '' : fallback} | ${schema.description} |`;
  });
  return ['| variable | default | meaning |', '|---|---|---|', ...rows].join('\n');
}

test('the table of settings is the one that the schema gives', async () => {
  const document = await Bun.file('docs/settings.md').text();
  expect(document).toContain(configurationTable());
});
