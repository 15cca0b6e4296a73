import { expect, test } from 'bun:test';
import { settings } from '../../src/config.ts';

/** The table that the README must hold: one row a setting, from the schema itself. */
function configurationTable(): string {
  const rows = Object.entries(settings.properties).map(([variable, schema]) => {
    const fallback = schema.default === undefined ? '' : `\`${schema.default}\``;
    return `| \`${variable}\` | ${fallback === '``' ? '' : fallback} | ${schema.description} |`;
  });
  return ['| variable | default | meaning |', '|---|---|---|', ...rows].join('\n');
}

test('the configuration table of the README is the one that the schema gives', async () => {
  const readme = await Bun.file('README.md').text();
  expect(readme).toContain(configurationTable());
});
