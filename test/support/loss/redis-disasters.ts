import { rename, rm } from 'node:fs/promises';
import { aDay, type Disaster } from './disaster.ts';
import { FILE_DISASTERS } from './file-disasters.ts';
import { goBackTo, leaveMark, withRedisDown } from './redis-data.ts';
import type { RedisWorld } from './redis-world.ts';

const emptyRestart: Disaster<RedisWorld> = {
  name: 'Redis is killed and comes back empty',
  putsBack: 'records',
  reason: /The records have lost the value/,
  async strike(world) {
    await withRedisDown(world, (data) => rename(data, `${data}-away`));
    return () =>
      withRedisDown(world, async (data) => {
        await rm(data, { recursive: true });
        await rename(`${data}-away`, data);
      });
  },
};

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

export const REDIS_DISASTERS: Disaster<RedisWorld>[] = [emptyRestart, recordsOfYesterday, ...FILE_DISASTERS];
