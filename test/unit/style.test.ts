import { expect, test } from 'bun:test';
import { rejected } from '../../scripts/gate/style.ts';

test('each rejected example of the style guide is found, and its replacement is not', async () => {
  const guide = await Bun.file('docs/style.md').text();
  const table = guide.slice(guide.indexOf('| never | instead |')).split('\n').slice(2).filter(Boolean);
  expect(table.length).toBeGreaterThan(15);
  for (const row of table) {
    const [, never = '', instead = ''] = row.split('|').map((cell) => cell.trim());
    expect([never, rejected(never).length > 0]).toEqual([never, true]);
    expect([instead, rejected(instead)]).toEqual([instead, []]);
  }
});
