import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { mkdir, open, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openStores } from '../../adapters/open.ts';
import { repairDatabase } from '../../adapters/sqlite/repair.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { cli } from '../support/servers/cli.ts';
import { startServer } from '../support/servers/server-process.ts';
import { drafts, image } from '../support/stores/records.ts';
import { withFolder } from '../support/temporary.ts';

const IMAGES = 600;
const ENV = { SERVICES: 'image' };

async function withStores<T>(
  folder: string,
  work: (stores: Awaited<ReturnType<typeof openStores>>) => Promise<T>,
) {
  const stores = await openStores(`sqlite:${folder}/picpool.db`, `file:${folder}/images`, {
    runtime: bunRuntime,
    log: () => {},
  });
  return work(stores).finally(stores.close);
}

async function install(folder: string): Promise<void> {
  await withStores(folder, async ({ images, proxies, state }) => {
    for (let n = 0; n < IMAGES; n++) {
      await images.insert(
        image({ id: String(n).padStart(12, '0'), createdAt: n * 1000, filename: `${n}.png` }),
      );
    }
    await images.remove('000000000000');
    await images.insert(image({ id: 'ended0000000', expiresAt: 1000 }));
    await images.removeEnded('ended0000000', Date.now());
    await proxies.save(drafts(50));
    await state.set('cookie-secret', 'kept');
  });
}

/** Overwrites leaf pages in the middle of a table, as a failing disk does; answers how many. */
async function damage(path: string, table: string): Promise<void> {
  const database = new Database(path, { readonly: true });
  const pages = database
    .query<{ pageno: number }, [string]>(
      "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path",
    )
    .all(table);
  database.close();
  const file = await open(path, 'r+');
  const middle = pages.slice(pages.length >> 1, (pages.length >> 1) + 2);
  for (const { pageno } of middle) await file.write(Buffer.alloc(4096, 0xa5), 0, 4096, (pageno - 1) * 4096);
  await file.close();
}

/** A process that is killed as soon as it has repaired the file, and what it wrote before. */
async function repairAndDie(path: string) {
  const script = `
    const { repairDatabase } = await import('./adapters/sqlite/repair.ts');
    const { bunRuntime } = await import('./src/runtime/bun.ts');
    const { writeSync } = await import('node:fs');
    const done = await repairDatabase(bunRuntime.openSqlite, process.argv[1], new Date());
    writeSync(1, JSON.stringify(done));
    process.kill(process.pid, 'SIGKILL');`;
  const child = Bun.spawn([process.execPath, '-e', script, path], { stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  await child.exited;
  return { code: child.signalCode === 'SIGKILL' ? null : child.exitCode, stdout, stderr };
}

describe('a database with damaged pages', () => {
  test(
    'is named at the start, and repaired as far as it can be read',
    () =>
      withFolder(async (folder) => {
        await install(folder);
        const path = join(folder, 'picpool.db');
        await damage(path, 'images');
        const { size } = await stat(path);
        const env = { ...ENV, DATA_DIR: folder, PORT: '0' };
        const { code, stderr } = await cli(['serve'], { env });
        const said = `The database ${path} is damaged. Restore a backup, or run \`picpool doctor --repair\``;
        expect([code, stderr]).toEqual([3, expect.stringContaining(said)]);
        const repaired = await cli(['doctor', '--repair'], { env });
        expect(repaired).toMatchObject({ code: 0, stderr: 'Could not be read completely: images.\n' });
        const [kept = ''] = (await readdir(folder)).filter((name) => /-damaged-\w+$/.test(name));
        expect(repaired.stdout).toContain(`the damaged file is ${join(folder, kept)}`);
        expect((await stat(join(folder, kept))).size).toBeGreaterThanOrEqual(size);

        await withStores(folder, async ({ images, proxies, state }) => {
          const { images: count } = await images.summary();
          // Two pages hold some thirty.
          expect(count).toBeGreaterThan(IMAGES - 60);
          expect(count).toBeLessThan(IMAGES - 1);
          for (const n of [1, IMAGES - 1])
            expect(await images.get(String(n).padStart(12, '0'))).not.toBeNull();
          expect([...(await images.buried(['000000000000']))]).toHaveLength(1);
          expect(await images.hasEnded('ended0000000')).toBe(true);
          expect((await proxies.summary()).total).toBe(50);
          expect(await state.get('cookie-secret')).toBe('kept');
          expect((await images.list({ text: `${IMAGES - 1}.png`, offset: 0, limit: 1 })).total).toBe(1);
          expect(await images.faults()).toEqual([]);
        });
        const server = await startServer('bun', ENV, folder);
        expect(await server.stop()).toBe(0);
      }),
    180_000,
  );

  test(
    'is on the disk when the repair says so, and can be opened at once',
    () =>
      withFolder(async (folder) => {
        await install(folder);
        const path = join(folder, 'picpool.db');
        await damage(path, 'images');
        const { ino } = await stat(path);
        const died = await repairAndDie(path);
        expect([died.code, died.stderr]).toEqual([null, '']);
        const { kept, rows } = JSON.parse(died.stdout) as { kept: string; rows: { images: number } };
        expect((await stat(kept)).ino).toBe(ino);
        expect((await readdir(folder)).filter((name) => /-(wal|shm|repaired)/.test(name))).toEqual([]);
        await withStores(folder, async ({ images }) => {
          expect((await images.summary()).images).toBe(rows.images);
        });
        const again = await repairDatabase(bunRuntime.openSqlite, path, new Date(0));
        await withStores(folder, async ({ images }) => {
          expect((await images.summary()).images).toBe(again.rows.images ?? 0);
        });
      }),
    180_000,
  );

  test(
    'is not repaired under a running server, nor where it cannot be read at all',
    () =>
      withFolder(async (folder) => {
        const path = join(folder, 'picpool.db');
        const run = () => cli(['doctor', '--repair'], { env: { ...ENV, DATA_DIR: folder } });
        const server = await startServer('bun', ENV, folder);
        expect(await run()).toMatchObject({
          code: 1,
          stderr: `picpool: A server is using ${path}; stop it first.\n`,
        });
        await server.stop();
        await writeFile(path, '');
        expect((await run()).stderr).toMatch(/Nothing in .* can be read/);
        expect(await readdir(folder)).not.toContainEqual(expect.stringContaining('repaired'));
        // As a disk does that became read-only, the system refuses the new file.
        await mkdir(`${path}-repaired`);
        expect((await run()).stderr).toMatch(/^picpool: \S+-repaired cannot be used \(\w+\)\.\n$/);
        await rm(path);
        await symlink(path, path);
        expect((await run()).stderr).toContain(`${path} cannot be used (ELOOP).`);
      }),
    180_000,
  );
});
