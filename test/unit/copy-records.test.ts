import { expect, test } from 'bun:test';
import { createSqliteAudit } from '../../adapters/sqlite/audit.ts';
import { openDatabase } from '../../adapters/sqlite/database.ts';
import { CARRIED_OUT, DONE, OPEN } from '../../src/audit/store.ts';
import { copyAudit } from '../../src/cli/copy-records.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';

const open = async () => createSqliteAudit(await openDatabase(bunRuntime.openSqlite, ':memory:'));

test('an act that was open during the first copy, and then done, is not done again after the second', async () => {
  const [from, to] = [await open(), await open()];
  const entry = { id: 'a', at: 1, day: 0, subject: 'network 192.0.2.1', text: '{"what":"block.add"}' };
  await from.append(entry, OPEN);
  await from.append({ ...entry, id: 'b' }, CARRIED_OUT);
  expect(await copyAudit(from, to)).toBe(2);
  expect((await to.unfinished(10)).map(({ id }) => id).sort()).toEqual(['a', 'b']);
  await from.advance('a', DONE);
  expect(await copyAudit(from, to)).toBe(2);
  expect((await to.unfinished(10)).map(({ id, stage }) => [id, stage])).toEqual([['b', CARRIED_OUT]]);
});
