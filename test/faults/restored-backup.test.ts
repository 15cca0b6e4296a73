import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { openRecords } from '../../adapters/open.ts';
import { openPostgres } from '../../adapters/postgres/connection.ts';
import { EPOCH_STATE } from '../../src/image/maintenance/epoch.ts';
import type { Lease } from '../../src/lib/locks.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { json } from '../support/json.ts';
import { type StoredFiles, storedFiles } from '../support/loss/files.ts';
import { run } from '../support/run.ts';
import { cli } from '../support/servers/cli.ts';
import { QUIET, upload } from '../support/servers/quiet-server.ts';
import { type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { postgresFolder, startPostgres } from '../support/stores/postgres-server.ts';
import { withFolderOfItsOwn } from '../support/stores/s3.ts';
import { S3_ACCESS, type Service, startS3, until } from '../support/stores/services.ts';

const MINUTE_MS = 60_000;
/** Longer than it takes from the dump to the confirmation. */
const LOCK_MS = 20_000;

let postgres: Service;
let s3: Awaited<ReturnType<typeof startS3>>;
beforeAll(async () => {
  [postgres, s3] = await Promise.all([startPostgres(), startS3()]);
});
afterAll(() => Promise.all([postgres.stop(), s3.stop()]));

const database = (name: string) => postgres.url.replace(/postgres$/, name);
const program = async (name: string) => join((await postgresFolder()) ?? '', name);
const folderOf = (url: string) => join(s3.folder, new URL(url).pathname.slice(1));
const filesAt = (url: string): StoredFiles => storedFiles(folderOf(url), (path) => path.replaceAll('!', '/'));

const storesOf = (records: string, files: string) => ({
  METADATA_URL: records,
  BLOBS_URL: files,
  ...S3_ACCESS,
});
const begin = (stores: Record<string, string>) =>
  startServer('bun', { ...QUIET, ...stores, SERVICES: 'image', IMAGE_CLEANUP_INTERVAL: '1s' });

/** Resolves when both stores have taken a step since. */
async function untilNextEpoch(url: string): Promise<void> {
  const { ask, table, close } = await openPostgres(url);
  const epoch = async () => {
    const text = `SELECT value FROM ${table('state')} WHERE key = $1`;
    return Number((await ask<{ value: string }>('safe', text, [EPOCH_STATE]))[0]?.value);
  };
  const before = await epoch();
  await until(async () => (await epoch()) > before + 1, MINUTE_MS);
  await close();
}

test('with records that are older than the files nothing is removed, until the operator says so', async () => {
  const [old, restored] = [withFolderOfItsOwn(s3.url), withFolderOfItsOwn(s3.url)];
  const server = await begin(storesOf(postgres.url, old));
  const [kept, deleted] = [await upload(server), await upload(server)];
  const dump = join(s3.folder, '..', 'dump.sql');
  // What a dump takes along of a moment in which the server cleaned up.
  const { locks, close } = await openRecords(postgres.url, { runtime: bunRuntime });
  let lease: Lease | null;
  do lease = await locks.acquire('image-epoch', LOCK_MS);
  while (lease === null);
  await run([await program('pg_dump'), '--no-owner', '-d', postgres.url, '-f', dump]);
  await lease.release();
  await close();
  const epoch = untilNextEpoch(postgres.url);
  const later = await upload(server);
  await fetch(`${server.url}/api/delete/${deleted.id}`, { method: 'DELETE' });
  await keepUploading(server, epoch);
  await server.stop();
  await run(['cp', '-a', folderOf(old), folderOf(restored)]);
  await run([await program('createdb'), '--maintenance-db', postgres.url, 'restored']);
  await run([await program('psql'), '-q', '-v', 'ON_ERROR_STOP=1', '-d', database('restored'), '-f', dump]);
  await filesAt(restored).age();
  const before = await filesAt(restored).placed();

  const stores = storesOf(database('restored'), restored);
  const again = await begin(stores);
  try {
    const ready = await json<{ degraded?: string[] }>(await fetch(`${again.url}/readyz`));
    expect(ready.degraded).toContain('The records are older than the files: some of them have been lost.');
    expect((await fetch(`${again.url}/i/${kept.id}.webp`)).status).toBe(200);
    expect((await fetch(`${again.url}/i/${deleted.id}.webp`)).status).toBe(404);
    expect((await fetch(`${again.url}/i/${later.id}.webp`)).status).toBe(404);
    // The server cleans up each second, and may be doing so at the moment: 409. So may the one that the dump has taken along, whose lock
    // lapses after a minute.
    let status = 409;
    await until(async () => {
      status = (await fetch(`${again.url}/api/cleanup`, { method: 'POST' })).status;
      return status !== 409;
    }, MINUTE_MS + LOCK_MS);
    expect(status).toBe(503);
    expect(await filesAt(restored).placed()).toEqual(before);
    expect(before.some((key) => key.includes(later.id))).toBe(true);

    const confirmed = await cli(['sweep', '--confirm'], { env: stores });
    expect([confirmed.code, confirmed.stdout]).toEqual([0, expect.stringContaining('put into quarantine')]);
    expect((await filesAt(restored).quarantined()).some((key) => key.includes(later.id))).toBe(true);
    expect((await fetch(`${again.url}/i/${kept.id}.webp`)).status).toBe(200);
    await until(
      async () => !('degraded' in (await json<object>(await fetch(`${again.url}/readyz`)))),
      MINUTE_MS,
    );
  } finally {
    await again.stop();
  }
}, 180_000);

/** Uploads until the time has come, as each epoch begins with a change. */
async function keepUploading(server: ServerProcess, until: Promise<void>): Promise<void> {
  let ended = false;
  const end = until.finally(() => {
    ended = true;
  });
  while (!ended) await upload(server);
  await end;
}
