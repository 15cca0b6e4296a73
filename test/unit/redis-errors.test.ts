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
  ["READONLY You can't write against a read only replica.", 'refused', 'The database is read-only.'],
  [
    'MISCONF Errors writing to the AOF file: No space left on device',
    'lasting',
    'The disk of the database is full.',
  ],
  [
    'MISCONF Redis is configured to save RDB snapshots, but is unable to persist to disk.',
    'lasting',
    'The database cannot write to its disk.',
  ],
  [
    "NOPERM this user has no permissions to run the 'evalsha' command",
    'lasting',
    'The database refuses the credentials of this server.',
  ],
  [
    'WRONGTYPE Operation against a key holding the wrong kind of value',
    'fault',
    'The database does not respond.',
  ],
])('%s means the same in a script of an old server', (said, kind, told) => {
  for (const text of [said, SCRIPT + said]) {
    const error = Object.assign(new Error(text), { name: 'ReplyError' });
    const { message } = failure(error);
    expect([classify(error), message.replace(' Try again in a few seconds.', '')]).toEqual([
      kind,
      told,
    ] as never);
  }
});
