import { randomUUID } from 'node:crypto';
import { cp, readFile, rename, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '../stores/services.ts';
import type { RedisWorld } from './redis-world.ts';

const DATA = 'appendonlydir';
/** What the cleanup holds. */
const LOCKS = ['cleanup', 'image-epoch'];
const LOG = 'appendonly.aof.1.incr.aof';

/** Leaves a mark in what Redis has written, to which `rewound` goes back. */
export async function leaveMark({ command }: Pick<RedisWorld, 'command'>): Promise<string> {
  const mark = `mark-${randomUUID()}`;
  await command('SET', mark, '1');
  return mark;
}

/** Kills Redis, has the work done on its data, and starts it again. */
export async function withRedisDown(
  { redis, command, env }: RedisWorld,
  work: (data: string) => Promise<unknown>,
): Promise<void> {
  await redis.kill();
  await work(join(redis.folder, DATA));
  await redis.start();
  await endLeases({ command, env });
}

/** A minute later: the leases of the cleanup have run out that could not be given back. */
export async function endLeases({ command, env }: Pick<RedisWorld, 'command' | 'env'>): Promise<void> {
  await until(async () => !(await command('PING')).startsWith('-LOADING'));
  const prefix = new URL(env.METADATA_URL ?? '').searchParams.get('prefix');
  await command('DEL', ...LOCKS.map((name) => `{${prefix}:lock:${name}}:owner`));
}

/** Takes the data back to before the command in which the pattern is found first. */
export async function rewind(data: string, pattern: RegExp): Promise<void> {
  const path = join(data, LOG);
  const log = await readFile(path, 'latin1');
  const at = log.search(pattern);
  if (at < 0) throw new Error(`Redis has not written ${pattern}`);
  await truncate(path, log.lastIndexOf('\r\n*', at) + 2);
}

/** Redis with the data that it had at the mark, for as long as the answer is not called, which puts the newer ones back. */
export async function goBackTo(world: RedisWorld, mark: string): Promise<() => Promise<void>> {
  let aside = '';
  await withRedisDown(world, async (data) => {
    aside = `${data}-aside`;
    await cp(data, aside, { recursive: true });
    await rewind(data, new RegExp(mark));
  });
  return () =>
    withRedisDown(world, async (data) => {
      await rm(data, { recursive: true });
      await rename(aside, data);
    });
}
