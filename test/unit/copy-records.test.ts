import { expect, test } from 'bun:test';
import { createSqliteAudit } from '../../adapters/sqlite/audit.ts';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import { CARRIED_OUT, DONE, OPEN } from '../../src/audit/store.ts';
import { copyAudit, copyState } from '../../src/cli/copy-records.ts';
import { memoryDatabase } from '../support/stores/memory.ts';

const values = async () => createSqliteState(await memoryDatabase());
const open = async () => createSqliteAudit(await memoryDatabase());

test('a value that was removed between two copies does not come back, and one of the new store stays', async () => {
  const [from, to] = [await values(), await values()];
  await to.set('own', '1');
  await from.set('report image a', 'open');
  await from.set('kept', '1');
  await copyState(from, to);
  expect(await to.get('report image a')).toBe('open');
  await from.remove('report image a');
  expect(await copyState(from, to)).toBe(1);
  expect([await to.get('report image a'), await to.get('kept'), await to.get('own')]).toEqual([
    null,
    '1',
    '1',
  ]);
});

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
