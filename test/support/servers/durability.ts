import { openRecords } from '../../../adapters/open.ts';
import { bunRuntime } from '../../../src/runtime/bun.ts';
import { json } from '../json.ts';
import { startReplicatedRedis } from '../stores/redis-replicas.ts';
import { command, startRedisServer, until } from '../stores/services.ts';
import { runServer } from './running-server.ts';

/** How many of the images that a server has acknowledged are there. */
export type Kept = 'all' | 'some' | 'none';

/** The settings of Redis by the first cell of a row of the handbook's table. */
export const REDIS_SETTINGS: Record<string, string[]> = {
  '`redis:`, `appendfsync always`': ['--appendfsync', 'always'],
  '`redis:`, `appendfsync everysec`': ['--appendfsync', 'everysec'],
  '`redis:`, `appendfsync no`': ['--appendfsync', 'no'],
  '`redis:`, snapshots': ['--appendonly', 'no', '--save', '3600 1'],
  '`redis:`, neither': ['--appendonly', 'no'],
};

/** Uploads to a server over Redis with these settings, kills Redis, starts it again, and looks what is left. */
export async function afterKill(settings: string[]): Promise<Kept> {
  const redis = await startRedisServer((port) => ['--port', `${port}`, ...settings]);
  const url = `redis://127.0.0.1:${redis.port}`;
  const { ids, stop } = await uploadTo(url, async (number) => {
    if (number === 1 && settings.includes('--save')) await command(redis.port, 'SAVE');
  });
  try {
    await redis.kill();
    await redis.start();
    return await left(url, ids);
  } finally {
    await stop();
    await redis.stop();
  }
}

/** Uploads to a server over Redis with a replica, which is cut off after the first image and then takes over. */
export async function afterFailover(): Promise<Kept> {
  const servers = await startReplicatedRedis();
  const { port } = servers.replica;
  const { ids, stop } = await uploadTo(servers.url, async (number) => {
    if (number !== 1) return;
    await until(async () => (await command(port, 'HLEN', '{picpool:images}:records')).startsWith(':1'));
    await command(port, 'REPLICAOF', 'NO', 'ONE');
  });
  try {
    await servers.master.kill();
    return await left(`redis://127.0.0.1:${port}`, ids);
  } finally {
    await stop();
    await servers.stop();
  }
}

/** Uploads two images; `after` is called after each. */
async function uploadTo(METADATA_URL: string, after: (number: number) => Promise<void>) {
  const server = await runServer({ METADATA_URL, SERVICES: 'image' });
  const ids: string[] = [];
  for (const number of [1, 2]) {
    ids.push((await json<{ id: string }>(await server.upload())).id);
    await after(number);
  }
  return { ids, stop: server.stop };
}

async function left(url: string, ids: string[]): Promise<Kept> {
  const records = await openRecords(url, { runtime: bunRuntime });
  const found = await records.images.existing(ids).finally(records.close);
  return found.size === ids.length ? 'all' : found.size === 0 ? 'none' : 'some';
}
