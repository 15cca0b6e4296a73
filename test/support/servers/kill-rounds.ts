import { strict as assert } from 'node:assert';
import { createHash } from 'node:crypto';
import { readdir, utimes } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { openDatabase } from '../../../adapters/sqlite/database.ts';
import { createSqliteImages } from '../../../adapters/sqlite/images.ts';
import { ownerOfKey } from '../../../src/image/records/blob-keys.ts';
import { bunRuntime } from '../../../src/runtime/bun.ts';
import { ADMIN, ADMIN_TOKEN } from '../admin.ts';
import { transparent } from '../images/images.ts';
import { json } from '../json.ts';
import { createRandom } from '../random.ts';
import { childrenOf, ended } from './processes.ts';
import { type RuntimeName, type ServerProcess, startServer } from './server-process.ts';

/** What is known of an image whose upload was answered. */
interface Known {
  id: string;
  raw_url: string;
  size: number;
  delete_token: string;
  /** `leaving`: its deletion was asked for, and not answered, or the cleanup may take it. */
  state: 'kept' | 'leaving' | 'gone';
}

export interface KillReport {
  kills: number;
  uploaded: number;
  deleted: number;
  cleanedUp: number;
  /** Temporary files and files without a record that the kills left and the sweep removed. */
  leftovers: number;
}

const RETENTION_DAYS = 90;
const OLD_MS = (RETENTION_DAYS + 1) * 86_400_000;
const TWO_HOURS_S = 7200;
const FORMATS = ['webp', 'jpeg', 'png', 'avif', 'gif'];

/**
 * Kills a server with SIGKILL at random moments of uploads, deletions and cleanups, starts it again on the same
 * folder, and checks after every start that what was acknowledged holds, and that nothing is listed that cannot be read.
 * Rejects with an `AssertionError` where that is not so. The same seed gives the same moments.
 */
export async function killRounds(runtime: RuntimeName, folder: string, rounds: number, seed: number) {
  const random = createRandom(seed);
  const picture = new Uint8Array(await transparent());
  const known = new Map<string, Known>();
  const report: KillReport = { kills: 0, uploaded: 0, deleted: 0, cleanedUp: 0, leftovers: 0 };
  const env = { ADMIN_TOKEN, SERVICES: 'image', RATE_LIMITS: 'off', LOG_LEVEL: 'error', IMAGE_WORKERS: '2' };

  for (let round = 0; round < rounds; round++) {
    const server = await startServer(runtime, env, folder);
    try {
      await verify(server, known, report);
    } finally {
      await churnAndKill(server);
    }
    await grow(folder, known, random);
  }
  const server = await startServer(runtime, { ...env, IMAGE_CLEANUP_INTERVAL: '1s' }, folder);
  try {
    await verify(server, known, report);
    report.leftovers = await age(folder);
    await swept(server, folder);
    await verify(server, known, report);
  } finally {
    await server.stop();
  }
  return report;

  async function churnAndKill(server: ServerProcess): Promise<void> {
    let running = true;
    const { promise: busyNow, resolve: onUpload } = Promise.withResolvers<void>();
    const url = (path: string) => new URL(path, server.url);
    const repeat = async (act: () => Promise<void>) => {
      // What the kill cut off has no answer, and so no promise.
      while (running) await act().catch(() => {});
    };
    const busy = Promise.all([
      repeat(() => upload(url).then(onUpload)),
      repeat(() => upload(url).then(onUpload)),
      repeat(() => upload(url).then(onUpload)),
      repeat(() => remove(url)),
      repeat(async () => {
        await fetch(url('/api/cleanup'), { method: 'POST', headers: ADMIN });
      }),
      repeat(() => shrink(url)),
    ]);
    // One kill in four hits a server that still starts its first conversions.
    if (random() < 0.75) await busyNow;
    await Bun.sleep(Math.floor(random() * 400));
    const workers = await childrenOf(server.pid);
    server.kill('SIGKILL');
    await server.exited;
    running = false;
    await busy;
    report.kills++;
    await ended(workers);
  }

  async function upload(url: (path: string) => URL): Promise<void> {
    const format = FORMATS[Math.floor(random() * FORMATS.length)];
    const answer = await fetch(url(`/api/upload?format=${format}`), { method: 'POST', body: picture });
    const body = await answer.text();
    assert.equal(answer.status, 201, body);
    const image = JSON.parse(body) as Known;
    known.set(image.id, { ...image, state: 'kept' });
    report.uploaded++;
  }

  async function remove(url: (path: string) => URL): Promise<void> {
    const all = [...known.values()].filter(({ state }) => state === 'kept');
    const image = all[Math.floor(random() * all.length)];
    if (!image || all.length < 5) return Bun.sleep(5);
    image.state = 'leaving';
    const { delete_token: token } = image;
    const answer = await fetch(url(`/api/delete/${image.id}?delete_token=${token}`), { method: 'DELETE' });
    if (answer.status !== 200) return;
    image.state = 'gone';
    report.deleted++;
  }

  async function shrink(url: (path: string) => URL): Promise<void> {
    const all = [...known.values()].filter(({ state }) => state === 'kept');
    const image = all[Math.floor(random() * all.length)];
    if (!image) return Bun.sleep(5);
    await (await fetch(url(`${new URL(image.raw_url).pathname}?w=160`))).bytes();
  }
}

/** Lets some images become so old that the next cleanup takes them. */
async function grow(folder: string, known: Map<string, Known>, random: () => number): Promise<void> {
  const database = await openDatabase(bunRuntime.openSqlite, join(folder, 'picpool.db'));
  try {
    const old = [...known.values()].filter(({ state }) => state === 'kept' && random() < 0.4);
    for (const image of old) image.state = 'leaving';
    const images = createSqliteImages(database);
    const now = Date.now();
    for (const { id } of old) {
      const record = await images.get(id);
      if (record) {
        await images.remove(id);
        await images.insert({ ...record, createdAt: now - OLD_MS, lastAccess: now - OLD_MS });
      }
    }
  } finally {
    database.close();
  }
}

async function verify(server: ServerProcess, known: Map<string, Known>, report: KillReport): Promise<void> {
  const listed = await everyListed(server.url);
  const readable = async (rawUrl: string, size: number) => {
    const answer = await fetch(new URL(new URL(rawUrl).pathname, server.url));
    assert.equal(answer.status, 200, `${rawUrl} answered ${answer.status}`);
    const bytes = await answer.bytes();
    assert.equal(bytes.length, size, rawUrl);
    assert.equal(answer.headers.get('etag'), `"${createHash('sha256').update(bytes).digest('hex')}"`);
  };
  for (const { raw_url, size } of listed.values()) await readable(raw_url, size);
  for (const image of known.values()) {
    const { id, state } = image;
    if (state === 'kept') assert.ok(listed.has(id), `${id} was acknowledged and is lost`);
    if (state === 'gone') assert.ok(!listed.has(id), `${id} was deleted and is back`);
    if (state === 'leaving' && !listed.has(id)) {
      image.state = 'gone';
      report.cleanedUp++;
    }
    if (image.state !== 'gone') continue;
    const answer = await fetch(new URL(new URL(image.raw_url).pathname, server.url));
    assert.equal(answer.status, 404, `${id} is gone and answers ${answer.status}`);
  }
}

async function everyListed(url: string): Promise<Map<string, Pick<Known, 'raw_url' | 'size'>>> {
  const found = new Map<string, Pick<Known, 'raw_url' | 'size'>>();
  for (let page = 1, pages = 1; page <= pages; page++) {
    const answer = await json<{ pages: number; images: Known[] }>(
      await fetch(`${url}/api/list?per_page=100&page=${page}`),
    );
    pages = answer.pages;
    for (const image of answer.images) found.set(image.id, image);
  }
  return found;
}

/** Makes all files two hours old: younger ones are left alone, as another server might still write them. */
async function age(folder: string): Promise<number> {
  const then = Date.now() / 1000 - TWO_HOURS_S;
  // Not the marks of the store, by which the server tells the time of the files.
  const images = (await filesIn(join(folder, 'images'))).filter((path) => ownerOfKey(basename(path)));
  for (const path of [...(await filesIn(join(folder, 'tmp'))), ...images]) await utimes(path, then, then);
  return (await filesIn(join(folder, 'tmp'))).length;
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

/** Resolves when the cleanup that runs every second has left nothing but files of records outside of the quarantine. */
async function swept(server: ServerProcess, folder: string): Promise<void> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const ids = new Set((await everyListed(server.url)).keys());
    const strays = (await filesIn(join(folder, 'images'))).filter((path) => {
      const owner = ownerOfKey(basename(path));
      return owner !== null && !ids.has(owner.id) && !path.includes('/quarantine/');
    });
    const left = [...(await filesIn(join(folder, 'tmp'))), ...strays];
    if (left.length === 0) return;
    assert.ok(Date.now() < deadline, `not swept: ${left}`);
    await Bun.sleep(100);
  }
}
