import { join } from 'node:path';
import { startRelay } from '../servers/relay.ts';
import { runServer } from '../servers/running-server.ts';
import { withPrefix } from '../stores/redis.ts';
import { withFolderOfItsOwn } from '../stores/s3.ts';
import { command, S3_ACCESS, startRedisServer, startS3 } from '../stores/services.ts';
import { storedFiles } from './files.ts';
import { startCopies } from './world.ts';

export type RedisWorld = Awaited<ReturnType<typeof startRedisWorld>>;

/** Two copies over a Redis and an S3 server of their own. */
export async function startRedisWorld() {
  const [redis, s3] = await Promise.all([startRedisServer((port) => ['--port', `${port}`]), startS3()]);
  const link = await startRelay(redis.port);
  const blobs = withFolderOfItsOwn(s3.url);
  const env = {
    METADATA_URL: withPrefix(`redis://127.0.0.1:${link.port}`),
    BLOBS_URL: blobs,
    ...S3_ACCESS,
    SERVICES: 'image',
    RATE_LIMITS: 'off',
    IMAGE_CLEANUP_INTERVAL: '1s',
  };
  const files = storedFiles(join(s3.folder, new URL(blobs).pathname.slice(1)), (path) =>
    path.replaceAll('!', '/'),
  );
  const running = await startCopies(2, env, files, runServer);
  return {
    ...running,
    redis,
    /** The link of the copies to Redis. */
    link,
    s3,
    /** One command of Redis. */
    command: (...words: string[]) => command(redis.port, ...words),
    async stop() {
      await running.stop();
      await Promise.all([link.stop(), redis.stop(), s3.stop()]);
    },
  };
}
