import { faultFor, IMAGE, type PutBack } from './fault.ts';

const fault = faultFor('images');

const trial = (name: string) => ['scripts/loss.ts', '0', '1', name];
const test = (file: string, name: string) => ['test', file, '-t', name];

/** Faults of adapters, found on real stores. */
export const STORE_FAULTS: readonly PutBack[] = [
  faultFor(test('test/adapters/redis.test.ts', 'is never overwritten by a smaller one'))(
    'no fencing',
    ['adapters/redis/locks.ts', 'if seen > tonumber(ARGV[2]) then', 'if false then'],
    [
      'adapters/redis/state.ts',
      "if tonumber(redis.call('HGET', KEYS[1], fence) or 0) > tonumber(ARGV[3]) then return 0 end",
      '',
    ],
    // Nor does a copy that lost its lease hear of it.
    ['src/lib/lease.ts', 'if (!released) ending.abort(reason);', 'void reason;'],
  ),
  fault('no lease of the sweep', [
    `${IMAGE}/maintenance/sweep.ts`,
    'await options.locks.acquire(CLEANUP_LOCK, CLEANUP_LOCK_TTL_MS);',
    '{ token: Date.now() * 1000 + CLEANUP_LOCK_TTL_MS % 7 + CLEANUP_LOCK.length, lost: new AbortController().signal, async release() {} };',
  ]),
  faultFor(trial('records of yesterday are put'))('no epochs', [
    `${IMAGE}/maintenance/epoch.ts`,
    'export function epochFault({ records, files }: Epochs): string | null {',
    'export function epochFault({ records, files }: Epochs): string | null {\n  if (records !== -1) return null;',
  ]),
  faultFor(trial('all files vanish'))(
    'no tombstones',
    ['adapters/redis/image-scripts.ts', "redis.call('ZADD', KEYS[6], redis.call('TIME')[1], id)", ''],
    [
      'adapters/sqlite/schema.ts',
      '`CREATE TRIGGER images_buried AFTER DELETE ON images BEGIN',
      '`CREATE TRIGGER images_buried AFTER DELETE ON images WHEN false BEGIN',
    ],
  ),
  faultFor(test('test/faults/postgres-away.test.ts', 'after a failover that loses the last writes'))(
    'after a failover, copies list proxies that the new primary does not have',
    [
      'adapters/postgres/proxy-log.ts',
      '      if (mark !== undefined && Number(mark) !== known) return null;\n',
      '',
    ],
  ),
  faultFor(test('test/faults/damaged-database.test.ts', 'is named at the start'))(
    'a repaired database has forgotten which pictures had ended',
    ['adapters/sqlite/repair.ts', "  { name: 'image_ends', key: 'id', least: '' },\n", ''],
  ),
  faultFor(test('test/e2e/backup.test.ts', 'SQLite locks the database against other processes'))(
    'reading a database drops the locks of the server on it',
    ['adapters/sqlite/database.ts', '  if (existsSync(path)) return;\n', ''],
  ),
];
