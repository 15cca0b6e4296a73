import { expect, test } from 'bun:test';
import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { absent } from '../support/absent.ts';
import { cli } from '../support/servers/cli.ts';
import { QUIET, upload } from '../support/servers/quiet-server.ts';
import { logInto, startServer } from '../support/servers/server-process.ts';
import { command, S3_ACCESS, startRedis, startS3, until } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

test.concurrent.skipIf(absent('redis-server', 'versitygw'))(
  'the log of the start and the doctor say what the stores may lose, and what to do',
  async () => {
    const [redis, s3] = await Promise.all([startRedis(), startS3()]);
    await command(Number(new URL(redis.url).port), 'CONFIG', 'SET', 'appendfsync', 'no');
    await withFolder(async (folder) => {
      const log = join(folder, 'log');
      const env = {
        ...QUIET,
        METADATA_URL: redis.url,
        BLOBS_URL: s3.url.replace('bucket', 'missing'),
        ...S3_ACCESS,
      };
      const server = await startServer('bun', env, folder, logInto(log));
      try {
        const findings = async () =>
          (await readFile(log, 'utf8'))
            .split('\n')
            .filter((line) => line.includes('may lose acknowledged'))
            .map((line) => JSON.parse(line) as { level: string; finding: string })
            .map(({ level, finding }) => `${level}: ${finding}`)
            .sort();
        await until(async () => (await findings()).length === 2);
        expect(await findings()).toEqual([
          'error: There is no bucket missing.',
          'warn: Redis lets the system decide when records reach the disk (appendfsync no).',
        ]);
        const { code, stdout } = await cli(['doctor', '--offline'], { env: { ...env, DATA_DIR: folder } });
        expect(code).toBe(1);
        expect(stdout).toMatch(/^FAIL {2}durability +There is no bucket missing\.\n +Create it/m);
        expect(stdout).toMatch(
          /^warn {2}durability +Redis lets the system decide .*\n +Set appendfsync everysec/m,
        );
      } finally {
        await server.stop();
      }
    });
    await Promise.all([redis.stop(), s3.stop()]);
  },
);

test.concurrent('the doctor says whether records and files belong together', async () => {
  await withFolder(async (folder) => {
    const env = { ...QUIET, DATA_DIR: folder, PORT: '0' };
    const doctor = async () => (await cli(['doctor', '--offline'], { env })).stdout;
    expect(await doctor()).not.toContain('records and files');
    const server = await startServer('bun', QUIET, folder);
    await upload(server);
    await server.stop();
    expect(await doctor()).toMatch(/^ok {4}records and files +they belong together$/m);
    const moved = { METADATA_URL: `sqlite:${folder}/new.db`, BLOBS_URL: `file:${folder}/new` };
    const to = ['--to-metadata', moved.METADATA_URL, '--to-blobs', moved.BLOBS_URL];
    expect((await cli(['migrate', ...to], { env })).code).toBe(0);
    Object.assign(env, moved);
    expect(await doctor()).toMatch(/^ok {4}records and files +they belong together$/m);
    for (const [gone, said] of [
      ['new', 'There are records of images, but none of their files'],
      ['new.db', 'The records have lost the value'],
    ] as const) {
      await rename(join(folder, gone), join(folder, 'aside'));
      expect(await doctor()).toMatch(new RegExp(`^FAIL {2}records and files +${said}`, 'm'));
      await rename(join(folder, 'aside'), join(folder, gone));
    }
    const marks = await Array.fromAsync(new Bun.Glob('*/picpool-files-epoch').scan(join(folder, 'new')));
    await Promise.all(marks.map((path) => rm(join(folder, 'new', path))));
    expect(await doctor()).toMatch(
      /^FAIL {2}records and files +The files have lost the mark .*\n +Until this/m,
    );
  });
});
