import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openRecords } from '../../adapters/open.ts';
import { openPostgres } from '../../adapters/postgres/connection.ts';
import { EPOCH_STATE } from '../../src/image/maintenance/epoch.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { quarters } from '../support/images/images.ts';
import { asJson } from '../support/json.ts';
import { cli } from '../support/servers/cli.ts';
import { QUIET } from '../support/servers/quiet-server.ts';
import { logInto, type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { sharedFolder } from '../support/shared.ts';
import { withSchema } from '../support/stores/postgres.ts';
import { startPostgres } from '../support/stores/postgres-server.ts';
import { image } from '../support/stores/records.ts';
import { withPrefix } from '../support/stores/redis.ts';
import { withFolderOfItsOwn } from '../support/stores/s3.ts';
import { command, S3_ACCESS, type Service, startRedis, startS3, until } from '../support/stores/services.ts';

const ADMIN_TOKEN = 'administrator-of-a-drill';
const PICTURES = 12;

let postgres: Service;
let redis: Service;
let s3: Awaited<ReturnType<typeof startS3>>;
beforeAll(async () => {
  [postgres, redis, s3] = await Promise.all([startPostgres(), startRedis(), startS3()]);
});
afterAll(async () => {
  await Promise.all([postgres.stop(), redis.stop(), s3.stop()]);
});
const scratch = await sharedFolder();

/** An installation, and how to lose each of its parts. */
interface Installation {
  env: Record<string, string>;
  target: string;
  lose: Record<'data' | 'records' | 'files', () => Promise<unknown>>;
}

let count = 0;
async function onOneMachine(): Promise<Installation> {
  const data = join(scratch, `data-${count++}`);
  const lose = (name: RegExp) => async () => {
    for (const file of await readdir(data))
      if (name.test(file)) await rm(join(data, file), { recursive: true });
  };
  return {
    env: { DATA_DIR: data },
    target: join(scratch, `backups-${count++}`),
    lose: { data: lose(/./), records: lose(/^picpool\.db/), files: lose(/^images$/) },
  };
}

async function shared(records: string, loseRecords: () => Promise<unknown>): Promise<Installation> {
  const files = withFolderOfItsOwn(s3.url);
  const data = join(scratch, `data-${count++}`);
  const folder = join(s3.folder, new URL(files).pathname.slice(1));
  return {
    env: {
      DATA_DIR: data,
      METADATA_URL: records,
      BLOBS_URL: files,
      ...S3_ACCESS,
    },
    target: withFolderOfItsOwn(s3.url),
    lose: {
      data: () => rm(data, { recursive: true }),
      records: loseRecords,
      files: () => rm(folder, { recursive: true }),
    },
  };
}

async function onPostgres(): Promise<Installation> {
  const url = withSchema(postgres.url);
  return shared(url, async () => {
    const { ask, close } = await openPostgres(url);
    await ask('never', `DROP SCHEMA ${new URL(url).searchParams.get('schema')} CASCADE`);
    await close();
  });
}

async function onRedis(): Promise<Installation> {
  return shared(withPrefix(redis.url), () => command(Number(new URL(redis.url).port), 'FLUSHALL'));
}

/** Each picture has a width of its own. */
const picture = (): Promise<Buffer> =>
  quarters(100 + count++)
    .png()
    .toBuffer();

async function upload({ url }: ServerProcess, body?: Buffer): Promise<string> {
  const answer = await fetch(`${url}/api/upload?format=png`, {
    method: 'POST',
    body: body ?? (await picture()),
  });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { id: string }).id;
}

const bytesOf = async ({ url }: ServerProcess, id: string) => {
  const answer = await fetch(`${url}/i/${id}.png`);
  return answer.status === 200
    ? createHash('sha256')
        .update(await answer.bytes())
        .digest('hex')
    : answer.status;
};

const admin = { authorization: `Bearer ${ADMIN_TOKEN}` };

/** Every loss once; on one machine, all stores are in the folder of the data. */
const DRILLS = [
  ['SQLite and a folder', onOneMachine, [['data'], ['files']]],
  ['Postgres and S3', onPostgres, [['data'], ['data', 'records', 'files']]],
  ['Redis and S3', onRedis, [['records']]],
] as const;

describe.each(DRILLS)('with %s', (_, install, losses) => {
  test.each(losses.map((lost) => [lost.join(', '), lost] as const))(
    'after the loss of %s a restore brings back all of the last backup, but nothing that the log says is gone',
    async (_name, lost) => {
      const { env, target, lose } = await install();
      const log = join(scratch, `log-${count++}`);
      const settings = { ...QUIET, ...env, ADMIN_TOKEN, SERVICES: 'image' };
      const server = await startServer('bun', settings, env.DATA_DIR, logInto(log));
      const kept = new Map<string, string | number>();
      for (let number = 0; number < PICTURES; number++) {
        const id = await upload(server);
        kept.set(id, await bytesOf(server, id));
      }
      const [deleted = '', early = ''] = kept.keys();
      const blocked = await picture();
      await fetch(`${server.url}/api/delete/${early}`, { method: 'DELETE', headers: admin });
      kept.delete(early);

      let going = true;
      const load = (async () => {
        for (let number = 0; going || number === 0; number++) {
          const id = await upload(server);
          if (number % 2 === 0)
            await fetch(`${server.url}/api/delete/${id}`, { method: 'DELETE', headers: admin });
        }
      })();
      if (!target.includes(':')) await mkdir(target);
      const made = await cli(['backup', target, '--check'], { env: settings });
      expect([made.code, made.stderr]).toEqual([0, '']);
      const hash = createHash('sha256').update(blocked).digest('hex');
      const block = await fetch(`${server.url}/api/admin/blocks`, asJson('POST', { hash }, admin));
      expect(block.status).toBe(200);
      await fetch(`${server.url}/api/delete/${deleted}`, { method: 'DELETE', headers: admin });
      kept.delete(deleted);
      const later = await upload(server);
      going = false;
      await load;
      await until(async () => (await readFile(log, 'utf8')).includes(`"image removed","id":"${deleted}"`));
      server.kill('SIGKILL');
      await server.exited;

      for (const part of lost) await lose[part]();
      const restored = await cli(['restore', target, '--log', log], { env: settings });
      const again = await startServer('bun', settings, env.DATA_DIR);
      try {
        for (const [id, bytes] of kept) expect([id, await bytesOf(again, id)]).toEqual([id, bytes]);
        for (const id of [deleted, early]) expect([id, await bytesOf(again, id)]).toEqual([id, 404]);
        const refused = await fetch(`${again.url}/api/upload`, { method: 'POST', body: blocked });
        expect(refused.status).toBe(403);
        expect((await upload(again)).length).toBe(12);
        const isLaterLost = lost.some((part) => part !== 'data') || !('METADATA_URL' in env);
        expect(await bytesOf(again, later)).toEqual(
          isLaterLost ? 404 : expect.stringMatching(/^[0-9a-f]{64}$/),
        );
        expect(restored.stdout + restored.stderr).toMatch(/(restored|complete), from backup \d+T/);
        if (lost.length === 1 && lost[0] === 'files')
          expect(restored.stderr).toContain('the records were there and know');
        else if (isLaterLost) expect(restored.stdout).toMatch(/as 1 log said, from \S+Z to \S+Z/);
        expect(restored.code).toBe(lost.length === 1 && lost[0] === 'files' ? 1 : 0);
      } finally {
        await again.stop();
      }
    },
    120_000,
  );
});

test('a record that cannot be read is a fault of the backup, which removes no older one', async () => {
  const { env } = await onRedis();
  const server = await startServer('bun', { ...QUIET, ...env });
  const [id, kept] = [await upload(server), await upload(server)];
  expect(await server.stop()).toBe(0);
  const target = join(scratch, 'unreadable');
  await mkdir(target);
  expect((await cli(['backup', target], { env })).code).toBe(0);
  const prefix = new URL(env.METADATA_URL ?? '').searchParams.get('prefix');
  const port = Number(new URL(redis.url).port);
  await command(port, 'HSET', `{${prefix}:images}:records`, id, 'newer');
  const without = await cli(['backup', target, '--keep', '1'], { env });
  expect([without.code, without.stderr]).toEqual([1, expect.stringContaining('1 record cannot be read')]);
  expect((await cli(['restore', target, '--list'], { env })).stdout.trim().split('\n')).toHaveLength(2);
  expect(without.stderr).not.toContain(kept);
}, 60_000);

test('records that are lost, or of a prefix that no server uses, take the place of no backup', async () => {
  const [onDisk, onServers] = [await onOneMachine(), await onRedis()];
  const target = join(scratch, 'kept');
  await mkdir(target);
  const backup = async (env: Record<string, string>) => {
    const { code, stderr } = await cli(['backup', target, '--keep', '1'], { env });
    return [code, stderr];
  };
  const begin = () => startServer('bun', QUIET, onDisk.env.DATA_DIR);
  const server = await begin();
  await Promise.all(Array.from({ length: 5 }, () => upload(server)));
  expect(await server.stop()).toBe(0);
  expect(await backup(onDisk.env)).toEqual([0, '']);
  const moved = await cli(['migrate', '--to-blobs', `file:${target}`], { env: onDisk.env });
  expect([moved.code, moved.stderr]).toEqual([2, expect.stringContaining('--to-blobs holds backups')]);

  const unused = [2, expect.stringContaining('No server has used')];
  expect(await backup(onServers.env)).toEqual(unused);
  // The doctor tries whether it can write there.
  await cli(['doctor', '--offline'], { env: { ...QUIET, ...onServers.env } });
  for (const words of ['token create lost', 'migrate --to-metadata sqlite::memory:']) {
    const { code, stderr } = await cli(words.split(' '), { env: onServers.env });
    expect([code, stderr]).toEqual(unused);
  }
  // Older records also name pictures that were deleted since.
  const { DATA_DIR = '' } = onDisk.env;
  const records = await openRecords(`sqlite:${DATA_DIR}/picpool.db`, { runtime: bunRuntime });
  await records.state.set(EPOCH_STATE, '0');
  await records.images.insert(image({ id: 'deletedSince' }));
  await records.close();
  expect(await backup(onDisk.env)).toEqual([1, expect.stringContaining('older than the files')]);
  await onDisk.lose.records();
  expect(await (await begin()).stop()).toBe(0);
  expect(await backup(onDisk.env)).toEqual([1, expect.stringContaining('no older one was removed')]);
  const { stdout, stderr } = await cli(['restore', target, '--list'], { env: onDisk.env });
  const [latest = '', second = '', first = ''] = stdout.trim().split('\n');
  expect(stderr.split('\n').map((text) => text.split(': ')[0])).toEqual([latest, second, '']);
  await onDisk.lose.records();
  const restore = (...at: string[]) => cli(['restore', target, ...at], { env: onDisk.env });
  expect([(await restore()).code, (await restore()).stderr]).toEqual([1, expect.stringContaining(latest)]);
  expect((await restore('--at', first)).stdout).toContain('5 images');
}, 60_000);

test('the place of the images is refused, by whatever name it goes', async () => {
  const { env } = await onRedis();
  const server = await startServer('bun', { ...QUIET, ...env });
  expect(await server.stop()).toBe(0);
  const target = (env.BLOBS_URL ?? '').replace('127.0.0.1', 'localhost');
  expect(target).not.toBe(env.BLOBS_URL ?? '');
  const refused = await cli(['backup', target], { env });
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('holds the images')]);
}, 60_000);
