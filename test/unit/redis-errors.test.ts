import { expect, test } from 'bun:test';
import { classify, failure } from '../../adapters/redis/connection.ts';

const SCRIPT = 'ERR Error running script (call to f_0a1b): @user_script:38: @user_script: 38: -';

/** What Redis 6.2 and 7 say. */
test.each([
  [
    "OOM command not allowed when used memory > 'maxmemory'.",
    'lasting',
    'The memory of the database is full.',
  ],
  ["READONLY You can't write against a read only replica.", 'refused', null],
  [
    'MISCONF Errors writing to the AOF file: No space left on device',
    'lasting',
    'The disk of the database is full.',
  ],
  ['MISCONF Redis is configured to save RDB snapshots, but is unable to persist to disk.', 'lasting', null],
  ['WRONGTYPE Operation against a key holding the wrong kind of value', 'fault', null],
])('%s means the same in a script of an old server', (said, kind, full) => {
  for (const text of [said, SCRIPT + said]) {
    const error = Object.assign(new Error(text), { name: 'ReplyError' });
    const { code, message } = failure(error);
    expect([classify(error), code === 'storage_full' ? message : null]).toEqual([kind, full] as never);
  }
});
