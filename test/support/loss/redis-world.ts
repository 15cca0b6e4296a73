import { join } from 'node:path';
import { type Relay, startRelay } from '../servers/relay.ts';
import { runServer } from '../servers/running-server.ts';
import { withPrefix } from '../stores/redis.ts';
import { withFolderOfItsOwn } from '../stores/s3.ts';
import { command, S3_ACCESS, startRedisServer, startS3 } from '../stores/services.ts';
import { storedFiles } from './files.ts';
import { type Copies, startCopies } from './world.ts';

/** Two copies over a Redis and an S3 server of their own. */
export interface RedisWorld extends Copies {
  redis: Awaited<ReturnType<typeof startRedisServer>>;
  /** The link of the copies to Redis. */
  link: Relay;
  s3: Awaited<ReturnType<typeof startS3>>;
  /** One command of Redis. */
  command(...words: string[]): Promise<string>;
}

export async function startRedisWorld(): Promise<RedisWorld> {
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
    link,
    s3,
    command: (...words) => command(redis.port, ...words),
    async stop() {
      await running.stop();
      await Promise.all([link.stop(), redis.stop(), s3.stop()]);
    },
  };
}
