import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createS3Blobs } from '../../adapters/s3/blobs.ts';
import { absent } from '../support/absent.ts';
import { json } from '../support/json.ts';
import { afterFailover, afterKill, type Kept, REDIS_SETTINGS } from '../support/servers/durability.ts';
import { PNG, runServer } from '../support/servers/running-server.ts';
import { startServer } from '../support/servers/server-process.ts';
import {
  command,
  S3_ACCESS,
  S3_CREDENTIALS,
  startRedis,
  startS3,
  until,
} from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

setDefaultTimeout(180_000);

/** What the handbook says in the cells behind each first one. */
const rows = new Map(
  (await Bun.file('docs/durability.md').text())
    .split('## What "stored" means')[1]
    ?.split('\n## ')[0]
    ?.split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, first = '', ...others]) => [first, others] as const) ?? [],
);

/** The word with which the handbook says it. While Redis waits for the disk each second, it writes nothing to its file for up to two. */
const WORDS: Record<Kept, RegExp> = { all: /^kept\b/, some: /\blost since/, none: /^all lost$/ };

const SYNCED = ['`sqlite:`', '`file:`'];
const REPLICATED = '`redis:` with a replica';
const WITH_S3 = '`s3:`';
/** `postgres-away.test.ts` promotes a replica that confirms; `test/adapters/postgres-forms.test.ts` has the doctor name the risks of the others. */
const POSTGRES = [
  '`postgres:`',
  '`postgres:`, `synchronous_commit off`',
  '`postgres:` with a replica',
  '`postgres:` with a replica in `synchronous_standby_names`',
];

test('every row of the table is held to something here', () => {
  expect([...rows.keys()].sort()).toEqual(
    [...SYNCED, ...Object.keys(REDIS_SETTINGS), REPLICATED, WITH_S3, ...POSTGRES].sort(),
  );
});

describe.skipIf(absent('redis-server'))('what is acknowledged over Redis', () => {
  test.concurrent('is kept or lost as the table says when Redis is killed', async () => {
    const found = await Promise.all(
      Object.entries(REDIS_SETTINGS).map(
        async ([row, settings]) => [row, await afterKill(settings)] as const,
      ),
    );
    for (const [row, kept] of found)
      expect([row, rows.get(row)?.[1]]).toEqual([row, expect.stringMatching(WORDS[kept])]);
  });

  test.concurrent('is kept or lost as the table says when a replica takes over', async () => {
    expect(await afterFailover()).toBe('some');
    expect(rows.get(REPLICATED)?.[2]).toBe('lost, if the replica had not received it yet');
  });
});

test.skipIf(absent('versitygw'))('a file over S3 is there after the S3 server was killed', async () => {
  const s3 = await startS3();
  const server = await runServer({
    BLOBS_URL: s3.url,
    SERVICES: 'image',
    ...S3_ACCESS,
  });
  try {
    const { id } = await json<{ id: string }>(await server.upload());
    await s3.kill();
    await s3.start();
    const blobs = createS3Blobs(s3.url, S3_CREDENTIALS);
    const files = (await Array.fromAsync(blobs.list())).flat().map(({ key }) => key);
    expect(files.filter((key) => key.includes(id))).toHaveLength(1);
    expect(rows.get(WITH_S3)?.[1]).toBe('kept');
  } finally {
    await server.stop();
    await s3.stop();
  }
});

/** Calls in their order, as strace has written them. */
async function callsOf(file: string): Promise<string[]> {
  return (await readFile(file, 'utf8')).split('\n');
}

describe.skipIf(absent('strace'))('before 201 is sent', () => {
  test.concurrent('record and file are synced to the disk, where both are on this machine', async () => {
    await withFolder(async (folder) => {
      const trace = join(folder, 'trace');
      const calls = 'trace=fsync,fdatasync,sendto,write,writev,sendmsg';
      const wrapper = ['strace', '-f', '-y', '-qq', '-s', '20', '-e', calls, '-o', trace];
      const env = { SERVICES: 'image', IMAGE_SANDBOX: 'off', IMAGE_WORKERS: '1' };
      const apart = { ...env, BLOBS_URL: `file:${folder}/new/new/images` };
      const server = await startServer('bun', apart, join(folder, 'data'), wrapper);
      try {
        const before = await callsOf(trace);
        // The names of the folders, which are made for the first file.
        for (const made of [folder, `${folder}/new`, `${folder}/new/new`])
          expect(before.some((call) => /fsync\(/.test(call) && call.includes(`${made}>`))).toBe(true);
        const from = before.length;
        expect((await fetch(`${server.url}/api/upload`, { method: 'POST', body: PNG })).status).toBe(201);
        const seen = (await callsOf(trace)).slice(from);
        const answered = seen.findIndex((call) => call.includes('HTTP/1.1 201'));
        const synced = seen.slice(0, answered).filter((call) => /f(data)?sync\(/.test(call));
        expect(answered).toBeGreaterThan(0);
        expect(synced.some((call) => call.includes('picpool.db-wal'))).toBe(true);
        expect(synced.some((call) => call.includes('.out'))).toBe(true);
        expect(synced.some((call) => /\/images\/\w*>/.test(call))).toBe(true);
        for (const row of SYNCED) expect(rows.get(row)?.[0]).toStartWith('on the disk');
      } finally {
        // The wrapper would end before what it wraps.
        process.kill(
          Number(
            (await readFile(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8')).trim().split(' ')[0],
          ),
          'SIGTERM',
        );
        await server.exited;
      }
    });
  });

  test.skipIf(absent('redis-server'))('Redis has synced the record, with appendfsync always', async () => {
    const redis = await startRedis();
    const port = Number(new URL(redis.url).port);
    const server = await runServer({ METADATA_URL: redis.url, SERVICES: 'image' });
    const pid = /process_id:(\d+)/.exec(await command(port, 'INFO'))?.[1] ?? '';
    const tracer = Bun.spawn(
      ['strace', '-f', '-y', '-s', '2000', '-e', 'trace=fdatasync,read,write', '-p', pid],
      { stderr: 'pipe' },
    );
    try {
      const reading = new Response(tracer.stderr).text();
      await until(async () =>
        (await readFile(`/proc/${pid}/status`, 'utf8')).includes(`TracerPid:\t${tracer.pid}`),
      );
      const { id } = await json<{ id: string }>(await server.upload());
      tracer.kill('SIGINT');
      const calls = (await reading).split('\n');
      const find = (after: number, what: RegExp) =>
        calls.findIndex((call, index) => index > after && what.test(call));
      const written = find(0, new RegExp(`write\\(\\d+<.*aof>, .*HSET.*${id}`));
      const synced = find(written, /fdatasync\(\d+<.*aof>/);
      const answered = find(written, /write\(\d+<(socket|TCP).*:1\\r\\n/);
      expect(written).toBeGreaterThan(0);
      expect(synced).toBeGreaterThan(written);
      expect(answered).toBeGreaterThan(synced);
    } finally {
      await server.stop();
      await redis.stop();
    }
  });
});
