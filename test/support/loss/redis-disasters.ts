import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runServer } from '../servers/running-server.ts';
import { withPrefix } from '../stores/redis.ts';
import { command, startRedisServer, until } from '../stores/services.ts';
import { aDay, confirm, type Disaster, isWell, swept } from './disaster.ts';
import { FILE_DISASTERS } from './file-disasters.ts';
import { startLogged } from './logged-process.ts';
import { endLeases, goBackTo, leaveMark, rewind, withRedisDown } from './redis-data.ts';
import type { RedisWorld } from './redis-world.ts';

const AN_HOUR_AHEAD = fileURLToPath(new URL('hour-ahead.ts', import.meta.url));
/** The mark of the first epoch, and all that comes with it, is lost. */
const LOST = /The records have lost the value/;

const flushed: Disaster<RedisWorld> = {
  name: 'FLUSHALL',
  putsBack: 'records',
  reason: LOST,
  async strike(world) {
    const mark = await leaveMark(world);
    await world.command('FLUSHALL');
    return () => withRedisDown(world, (data) => rewind(data, new RegExp(mark)));
  },
};

const emptyRestart: Disaster<RedisWorld> = {
  name: 'Redis is killed and comes back empty',
  putsBack: 'records',
  reason: LOST,
  async strike(world) {
    await withRedisDown(world, (data) => rename(data, `${data}-away`));
    return () =>
      withRedisDown(world, async (data) => {
        await rm(data, { recursive: true });
        await rename(`${data}-away`, data);
      });
  },
};

const evicted: Disaster<RedisWorld> = {
  name: 'Redis evicts keys to make room for others',
  putsBack: 'records',
  reason: null,
  async strike(world) {
    const prefix = new URL(world.env.METADATA_URL ?? '').searchParams.get('prefix');
    const ours = async () => (await world.command('EVAL', COUNT_KEYS, '0', `{${prefix}:[is]*`)).trim();
    const before = await ours();
    const filler = (from: number) => world.command('EVAL', FILL, '0', String(from), '500');
    await filler(0);
    const used = Number(/used_memory:(\d+)/.exec(await world.command('INFO', 'memory'))?.[1]);
    await world.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    await world.command('CONFIG', 'SET', 'maxmemory', String(used));
    for (let from = 500; (await ours()) === before && from < 50_000; from += 500) await filler(from);
    await world.command('CONFIG', 'SET', 'maxmemory', '0');
    const first = new RegExp(`\\r\\n(DEL|UNLINK)\\r\\n\\$\\d+\\r\\n\\{${prefix}:(images|state)\\}`);
    return async () => {
      await withRedisDown(world, (data) => rewind(data, first));
      await world.twoTurns();
      // Where what went first had nobody in doubt, records and files have gone on together.
      if (!(await isWell(world))) await confirm(world);
    };
  },
};
const COUNT_KEYS = `"return #redis.call('KEYS', ARGV[1])"`;
const FILL = `"for i = ARGV[1], ARGV[1] + ARGV[2] do redis.call('SET', 'filler' .. i, string.rep('x', 1000)) end"`;

const recordsOfYesterday: Disaster<RedisWorld> = {
  name: 'the records of yesterday are put back',
  putsBack: 'records',
  reason: /The records are older than the files/,
  async strike(world, ledger) {
    const mark = await leaveMark(world);
    await aDay(world, ledger);
    return goBackTo(world, mark);
  },
};

const confirmedBackup: Disaster<RedisWorld> = {
  name: 'the records of yesterday are all there is',
  putsBack: 'nothing',
  alone: true,
  reason: /The records are older than the files/,
  async strike(world, ledger) {
    const mark = await leaveMark(world);
    const known = new Set(ledger.stored.keys());
    await aDay(world, ledger);
    await goBackTo(world, mark);
    return async () => {
      // What came after the backup has files in quarantine, and nobody's promise any more.
      for (const id of ledger.stored.keys()) if (!known.has(id)) ledger.stored.delete(id);
      await confirm(world);
    };
  },
};

const promotedReplica: Disaster<RedisWorld> = {
  name: 'a replica becomes the master without the last seconds',
  putsBack: 'records',
  // Beside another one it would be the other Redis that is struck.
  alone: true,
  reason: /The records are older than the files/,
  async strike(world, ledger) {
    const replica = await startRedisServer((port) => [
      ...['--port', `${port}`, '--replicaof', '127.0.0.1', `${world.redis.port}`],
    ]);
    const tell = (...words: string[]) => command(replica.port, ...words);
    await until(async () => (await tell('INFO', 'replication')).includes('master_link_status:up'));
    await tell('REPLICAOF', 'NO', 'ONE');
    await aDay(world, ledger);
    world.link.lead(replica.port);
    return async () => {
      world.link.lead(world.redis.port);
      await replica.stop();
      await endLeases(world);
    };
  },
};

const UNDER_WAY = 'UnderWay0000.png';

const clockAhead: Disaster<RedisWorld> = {
  name: 'a copy whose clock is an hour ahead',
  putsBack: 'nothing',
  reason: null,
  async strike(world) {
    // As an upload leaves it before its record is there.
    const underWay = join(world.files.folder, UNDER_WAY);
    await writeFile(underWay, 'under way');
    const wasWell = await isWell(world);
    const ahead = await startLogged(world.env, AN_HOUR_AHEAD).catch((error: unknown) => {
      // A copy does not start on stores that do not belong together.
      if (wasWell) throw error;
    });
    if (wasWell && ahead) await swept({ servers: [ahead] });
    const isThere = (await world.files.placed()).includes(UNDER_WAY);
    await rm(underWay, { force: true });
    if (!isThere) throw new Error('the file of an upload that was under way has gone');
    return async () => ahead?.stop();
  },
};

const otherFleet: Disaster<RedisWorld> = {
  name: 'a fleet with records of its own starts on the same files',
  putsBack: 'nothing',
  reason: null,
  async strike(world) {
    const METADATA_URL = withPrefix(world.env.METADATA_URL ?? '');
    const wasWell = await isWell(world);
    const started = await runServer({ ...world.env, METADATA_URL }).catch(() => null);
    await started?.stop();
    return async () => {
      if (started && wasWell) throw new Error('the other fleet has started');
    };
  },
};

export const REDIS_DISASTERS: Disaster<RedisWorld>[] = [
  flushed,
  emptyRestart,
  evicted,
  recordsOfYesterday,
  confirmedBackup,
  promotedReplica,
  clockAhead,
  otherFleet,
  ...FILE_DISASTERS,
];
