import { readdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { ownerOfKey } from '../../../src/image/blob-keys.ts';
import { json } from '../json.ts';
import { withPrefix } from '../redis.ts';
import { type RunningServer, runServer } from '../running-server.ts';
import { withFolderOfItsOwn } from '../s3.ts';
import { command, S3_CREDENTIALS, startRedis, startS3, until } from '../services.ts';

const TWO_HOURS_S = 7200;

/** An image as its uploader knows it. */
export interface Uploaded {
  id: string;
  raw_url: string;
  delete_token: string;
}

/** Copies of the server in this process, over a Redis and an S3 server of their own. */
export async function startLossWorld(copies: number, more: Record<string, string> = {}) {
  const [redis, s3] = await Promise.all([startRedis(), startS3()]);
  const blobs = withFolderOfItsOwn(s3.url);
  const env = {
    METADATA_URL: withPrefix(redis.url),
    BLOBS_URL: blobs,
    AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
    SERVICES: 'image',
    RATE_LIMITS: 'off',
    IMAGE_CLEANUP_INTERVAL: '1s',
    ...more,
  };
  const folder = join(s3.folder, new URL(blobs).pathname.slice(1));
  const servers: RunningServer[] = [];
  const start = async () => {
    const server = await runServer(env);
    servers.push(server);
    return server;
  };
  for (let copy = 0; copy < copies; copy++) await start();

  return {
    redis,
    s3,
    env,
    folder,
    servers,
    start,
    command: (...words: string[]) => command(Number(new URL(redis.url).port), ...words),

    async upload(count: number): Promise<Uploaded[]> {
      const uploaded: Uploaded[] = [];
      for (let index = 0; index < count; index++) {
        const answer = await servers[index % servers.length]?.upload();
        if (answer?.status !== 201) throw new Error(`upload: ${answer?.status} ${await answer?.text()}`);
        uploaded.push((await answer.json()) as Uploaded);
      }
      return uploaded;
    },

    /** Names of the stored files of images. */
    async files(): Promise<string[]> {
      return (await readdir(folder)).filter((name) => ownerOfKey(name) !== null).sort();
    },

    /** Makes all files two hours old. */
    async age(): Promise<void> {
      const then = Date.now() / 1000 - TWO_HOURS_S;
      for (const name of await readdir(folder)) await utimes(join(folder, name), then, then);
    },

    /** Resolves when each copy has logged the message after the call. */
    async eachLogs(message: string): Promise<void> {
      const seen = servers.map(({ logged }) => logged.length);
      await until(() =>
        servers.every(({ logged }, index) =>
          logged.slice(seen[index]).some((line) => line.message === message),
        ),
      );
    },

    readiness: async (server: RunningServer) => {
      const answer = await server.send('/readyz');
      return { code: answer.status, ...(await json<{ degraded?: string[] }>(answer)) };
    },

    /** Resolves when each copy has begun two more turns of its clean-up. */
    async twoTurns(): Promise<void> {
      const turns = (server: RunningServer) =>
        server.logged.filter(({ message }) => message === 'clean-up looked').length;
      const seen = servers.map(turns);
      await until(() => servers.every((server, index) => turns(server) >= (seen[index] ?? 0) + 2));
    },

    async stop(): Promise<void> {
      await Promise.all(servers.map((server) => server.stop()));
      await Promise.all([redis.stop(), s3.stop()]);
    },
  };
}

export type LossWorld = Awaited<ReturnType<typeof startLossWorld>>;
