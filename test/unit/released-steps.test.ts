import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { migrations as postgres } from '../../adapters/postgres/schema.ts';
import { migrations as sqlite } from '../../adapters/sqlite/schema.ts';

/** Returns a hash for each step of a schema. */
function hashesOf(steps: readonly (readonly string[])[]): string[] {
  return steps.map((step) => createHash('sha256').update(step.join('\n')).digest('hex').slice(0, 16));
}

test('no step of a schema has changed since it was added, and each has its line', async () => {
  const hashes = {
    sqlite: hashesOf(sqlite),
    postgres: hashesOf(postgres.map((step) => step((name) => name, 'text'))),
  };
  // The file gets a line for a step when it is added. A line that is there never changes.
  expect(hashes).toEqual(await Bun.file('test/fixtures/released-steps.json').json());
});
