import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { keyOfName } from '../../adapters/filesystem/blobs.ts';
import { openStores, type Stores } from '../../adapters/open.ts';
import { SERVICE_STATE } from '../../src/image/maintenance/service-time.ts';
import { pairStores } from '../../src/image/maintenance/store-identity.ts';
import { originalKey } from '../../src/image/records/blob-keys.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { storedFiles } from '../support/loss/files.ts';
import { cli } from '../support/servers/cli.ts';
import { image } from '../support/stores/records.ts';

const idOf = (n: number) => String(n).padStart(12, '0');
const keyOf = (n: number) => originalKey(image({ id: idOf(n) }));

describe('files without a record', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'picpool-sweep-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const run = (...args: string[]) => cli(args, { env: { DATA_DIR: folder } });
  const files = () => storedFiles(join(folder, 'images'), (path) => keyOfName(basename(path)));

  async function withStores<T>(work: (stores: Stores) => Promise<T>): Promise<T> {
    const stores = await openStores(`sqlite:${folder}/picpool.db`, `file:${folder}/images`, {
      runtime: bunRuntime,
    });
    return work(stores).finally(stores.close);
  }

  /** As a server leaves it, whose last files have lost their records; all of them two hours old. */
  async function install({ images, strays }: { images: number; strays: number }): Promise<void> {
    await withStores(async (stores) => {
      const shared = { records: false, files: false };
      await pairStores({ ...stores, shared, folder, clock: systemClock, log: () => {} });
      for (let n = 0; n < images + strays; n++) {
        const path = join(folder, randomUUID());
        await writeFile(path, `image ${n}`);
        await stores.blobs.put(keyOf(n), path, 'image/png');
        if (n < images) await stores.images.insert(image({ id: idOf(n) }));
      }
    });
    await files().age();
  }

  test('are shown and left alone until that is confirmed', async () => {
    await install({ images: 20, strays: 5 });
    const shown = await run('sweep');
    expect(shown).toMatchObject({ code: 1, stderr: '' });
    expect(shown.stdout).toContain('25 files, of which 20 are images with a record');
    expect(shown.stdout).toContain(`5 files without a record`);
    expect(shown.stdout).toContain(keyOf(24));
    expect(await files().placed()).toHaveLength(25);

    expect(await run('sweep', '--confirm')).toMatchObject({
      code: 0,
      stdout: '5 files put into quarantine, 0 removed, 0 put back\n',
    });
    expect(await files().placed()).toEqual(Array.from({ length: 20 }, (_, n) => keyOf(n)));
    expect(await files().quarantined()).toEqual(Array.from({ length: 5 }, (_, n) => keyOf(20 + n)));
    expect(await run('sweep')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('5 files in quarantine'),
    });
  }, 180_000);

  test('stay in quarantine while no server runs', async () => {
    await install({ images: 1, strays: 1 });
    await run('sweep', '--confirm');
    await files().age();
    const sweep = async (account: object) => {
      await withStores(({ state }) => state.set(SERVICE_STATE, JSON.stringify({ doubt: null, ...account })));
      const env = { DATA_DIR: folder, IMAGE_STRAY_RETENTION: '1h' };
      return (await cli(['sweep', '--confirm'], { env })).stdout;
    };
    const [now, then] = [Date.now(), Date.now() - 2 * 3_600_000];
    expect(await sweep({ at: then, pauses: [[0, then - 1000]] })).toContain(' 0 removed');
    expect(await sweep({ at: now, pauses: [[0, then]] })).toContain(' 1 removed');
  }, 180_000);

  test('are moved away by the operator if the records were lost, after a message that says why', async () => {
    await install({ images: 2, strays: 3 });
    await withStores(({ state }) => state.set('image-files-epoch', '0'));
    expect(await run('sweep')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('The records are older than the files'),
    });
    expect((await run('sweep', '--confirm')).code).toBe(0);
    expect(await run('sweep')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('older') });
    // All that is left are the records of the images.
    await withStores(async ({ state }) => {
      for (const key of await state.keys()) await state.remove(key);
    });
    expect(await run('sweep')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('The records have lost the value'),
    });
  }, 180_000);
});
