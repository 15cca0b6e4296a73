import { expect, jest, test } from 'bun:test';
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openStores, type Stores } from '../../adapters/open.ts';
import { compareImages } from '../../src/cli/copy-images.ts';
import { withWorkFolder } from '../../src/cli/copying.ts';
import { CommandError, noAccess } from '../../src/cli/exit.ts';
import { IDENTITY_STATE, pairStores } from '../../src/image/maintenance/store-identity.ts';
import { originalKey } from '../../src/image/records/blob-keys.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { cli, cliCommand, cliEnvironment } from '../support/servers/cli.ts';
import { PNG } from '../support/servers/running-server.ts';
import { LIGHT, startServer } from '../support/servers/server-process.ts';
import { sharedFolder } from '../support/shared.ts';
import { image } from '../support/stores/records.ts';
import { until } from '../support/stores/services.ts';

const folder = await sharedFolder();

const metadataOf = (name: string) => `sqlite:${folder}/${name}/picpool.db`;
const blobsOf = (name: string) => `file:${folder}/${name}/images`;
const migration = (from: string, to: string) => [
  ...['migrate', '--from-metadata', metadataOf(from), '--from-blobs', blobsOf(from)],
  ...['--to-metadata', metadataOf(to), '--to-blobs', blobsOf(to)],
];

async function withStores<T>(name: string, work: (stores: Stores) => Promise<T>): Promise<T> {
  await mkdir(join(folder, name), { recursive: true });
  const stores = await openStores(metadataOf(name), blobsOf(name), { runtime: bunRuntime });
  return work(stores).finally(stores.close);
}

/** What the start of a server does with them; rejects where it would not start. */
async function pair(stores: Stores, sleep = systemClock.sleep): Promise<void> {
  const shared = { records: true, files: false };
  await pairStores({
    ...stores,
    shared,
    folder: join(folder, 'temporary'),
    clock: { sleep },
    log: () => {},
  });
}

const fileOf = (n: number) => Buffer.from(`${n} `.repeat(10_000));
const records = (count: number) =>
  Array.from({ length: count }, (_, n) => {
    const hash = createHash('sha256').update(fileOf(n)).digest('hex');
    return image({ id: String(n).padStart(12, '0'), size: fileOf(n).length, hash });
  });

/** An installation with that many images. */
async function install(name: string, count: number): Promise<void> {
  await withStores(name, async (stores) => {
    await pair(stores);
    for (const [n, record] of records(count).entries()) {
      const path = join(folder, randomUUID());
      await writeFile(path, fileOf(n));
      await stores.blobs.put(originalKey(record), path, 'image/png');
      await stores.images.insert(record);
    }
  });
}

test.each(['SIGKILL', 'SIGTERM'] as const)(
  'an hour later, nothing is left of a copy that %s ended and another took up',
  async (signal) => {
    await install(`left-${signal}`, 100);
    const temporary = join(folder, `temporary-${signal}`);
    await mkdir(temporary);
    const env = { TMPDIR: temporary, DATA_DIR: join(temporary, 'none') };
    const args = migration(`left-${signal}`, `taken-${signal}`);
    const child = Bun.spawn(cliCommand(args), {
      env: cliEnvironment(env),
      stdout: 'ignore',
      stderr: 'ignore',
    });
    await until(async () => (await readdir(temporary)).some((name) => name.startsWith('picpool-migrate-')));
    child.kill(signal);
    await child.exited;
    const left = await readdir(temporary);
    expect(left).toHaveLength(signal === 'SIGKILL' ? 1 : 0);
    for (const name of left) await utimes(join(temporary, name), 0, 0);
    expect((await cli(args, { env })).code).toBe(0);
    expect(await readdir(temporary)).toEqual([]);
  },
);

test('two commands in containers, where both are process 1, do not remove the files of each other', async () => {
  const data = join(folder, 'shared');
  await mkdir(data);
  await withWorkFolder(data, async (one) => {
    await withWorkFolder(data, async (other) => expect(other).not.toBe(one));
    expect((await stat(one)).isDirectory()).toBe(true);
  });
  expect(await readdir(join(data, 'tmp'))).toEqual([]);
});

test('a folder that this user cannot use is named without a stack, and is not called missing', async () => {
  const data = join(folder, 'another-user');
  const path = join(data, 'picpool.db');
  await mkdir(data);
  await symlink(path, path);
  for (const args of [
    ['token', 'list'],
    ['restore', path],
  ]) {
    const { code, stderr } = await cli(args, { env: { DATA_DIR: data } });
    expect([code, stderr]).toEqual([1, `picpool: ${path} cannot be used (ELOOP).\n`]);
  }
  await writeFile(join(data, 'tmp'), '');
  const inVain = withWorkFolder(data, async () => {});
  await expect(inVain).rejects.toThrow(new CommandError(`${join(data, 'tmp')} cannot be used (EEXIST).`));
  expect(noAccess('/x', Object.assign(new Error(), { code: 'EACCES' })).message).toBe(
    "/x cannot be used (EACCES). Run this as the server's user.",
  );
});

test('the folder of a copy that takes hours never looks abandoned', async () => {
  const data = join(folder, 'slow');
  await mkdir(data);
  jest.useFakeTimers();
  try {
    await withWorkFolder(data, async (work) => {
      await utimes(work, 0, 0);
      jest.advanceTimersByTime(60_000);
      jest.useRealTimers();
      await until(async () => (await stat(work)).mtimeMs > 0);
    });
  } finally {
    jest.useRealTimers();
  }
});

test('a server goes on while its stores are copied, and a second run brings what changed meanwhile', async () => {
  await install('serving', 60);
  const data = join(folder, 'serving');
  const server = await startServer('bun', { ...LIGHT, SERVICES: 'image', RATE_LIMITS: 'off' }, data);
  let reads = 0;
  let copying = true;
  const statuses = new Set<number>();
  const reading = (async () => {
    for (; copying || reads === 0; reads++) {
      const answer = await fetch(`${server.url}/i/${String(reads % 60).padStart(12, '0')}.png`);
      await answer.bytes();
      statuses.add(answer.status);
    }
  })();
  expect((await cli(migration('serving', 'served'))).code).toBe(0);
  copying = false;
  await reading;
  expect([...statuses]).toEqual([200]);

  const added = (await (await fetch(`${server.url}/api/upload`, { method: 'POST', body: PNG })).json()) as {
    id: string;
  };
  await server.stop();
  await withStores('serving', async ({ images, blobs }) => {
    const [gone] = records(1);
    if (!gone) return;
    await images.remove(gone.id);
    await blobs.remove(originalKey(gone));
  });
  const again = await cli(migration('serving', 'served'));
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('1 image removed, deleted since')]);
  await withStores('served', async ({ images, blobs }) => {
    expect((await images.summary()).images).toBe(60);
    expect(await images.get(added.id)).not.toBeNull();
    expect(await images.get('000000000000')).toBeNull();
    expect(await blobs.stat('000000000000.png')).toBeNull();
  });
}, 180_000);

test('a picture that was deleted so long ago that the old store has forgotten it is named', async () => {
  await install('forgetful', 3);
  expect((await cli(migration('forgetful', 'long-after'))).stdout).not.toContain('only there');
  const [gone] = records(1);
  await withStores('forgetful', async ({ images }) => {
    await images.remove(gone?.id ?? '');
    await images.dropTombstones(-1);
  });
  const again = await cli(migration('forgetful', 'long-after'));
  expect([again.code, again.stdout]).toEqual([
    0,
    expect.stringContaining(`1 image only there, new or deleted here long ago (${gone?.id})`),
  ]);
});

test('what changed in the old store changes in the new one, where the picture was opened since', async () => {
  await install('changing', 3);
  expect((await cli(migration('changing', 'opened'))).code).toBe(0);
  const [{ id, createdAt } = image()] = records(1);
  const openedAt = createdAt + 1e12;
  await withStores('opened', ({ images }) => images.touch(new Map([[id, openedAt]])));
  const change = { unlisted: 1, passwordHash: 'secret', expiresAt: createdAt + 2e12 } as const;
  await withStores('changing', ({ images }) => images.change(id, change));
  await withStores('changing', (source) =>
    withStores('opened', async (target) =>
      expect(await compareImages(source, target)).toEqual([
        `image ${id} has another passwordHash, unlisted, expiresAt in the new store`,
      ]),
    ),
  );

  const again = await cli(migration('changing', 'opened'));
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('3 images (1 copied now')]);
  await withStores('opened', async ({ images }) => {
    expect(await images.get(id)).toMatchObject({ ...change, lastAccess: openedAt });
    expect((await images.list({ offset: 0, limit: 9 })).total).toBe(2);
  });
  expect((await cli(migration('changing', 'opened'))).stdout).toContain('3 images (0 copied now');
}, 180_000);

test('an installation without images starts with its new stores', async () => {
  await install('none', 0);
  expect((await cli(migration('none', 'moved'))).code).toBe(0);
  await withStores('moved', async (stores) => {
    await pair(stores, () => Promise.reject(new Error('there is nothing to wait for')));
  });
});

test('stores with the images of another installation are refused and left alone', async () => {
  await install('one', 3);
  await install('other', 2);
  const id = await withStores('other', ({ state }) => state.get(IDENTITY_STATE));
  const onto = await cli(migration('one', 'other'));
  expect([onto.code, onto.stderr]).toEqual([
    1,
    expect.stringContaining('the images of another installation'),
  ]);
  const files = ['migrate', '--from-metadata', metadataOf('one'), '--from-blobs', blobsOf('one')];
  const filesAlone = await cli([...files, '--to-blobs', blobsOf('other')]);
  expect(filesAlone.code).toBe(1);
  await withStores('other', async (stores) => {
    expect((await stores.images.summary()).images).toBe(2);
    expect(await stores.state.get(IDENTITY_STATE)).toBe(id);
    await pair(stores);
  });
});

test('stores that were started once, and are empty, are taken over', async () => {
  await install('full', 3);
  await install('fresh', 0);
  expect((await cli(migration('full', 'fresh'))).stdout).toContain('3 images (3 copied now');
  await withStores('fresh', pair);
});

test.each([
  ['--to-blobs', () => `file:${folder}/same/../same/images/`],
  ['--to-blobs', () => `file:${folder}/link/images`],
  ['--to-metadata', () => `sqlite:${folder}/link/picpool.db`],
])('%s by another path to where they are is refused', async (option, path) => {
  await mkdir(join(folder, 'same', 'images'), { recursive: true });
  await withStores('same', async () => {});
  await symlink(join(folder, 'same'), join(folder, 'link')).catch(() => {});
  const from = ['--from-metadata', metadataOf('same'), '--from-blobs', blobsOf('same')];
  const { code, stderr } = await cli(['migrate', ...from, option, path()]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('must differ from the old ones')]);
});
