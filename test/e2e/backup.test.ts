import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { placeOf } from '../../adapters/filesystem/blobs.ts';
import { openStores } from '../../adapters/open.ts';
import { DONE } from '../../src/audit/store.ts';
import { filesIn, storeBackup } from '../../src/cli/backups.ts';
import { copyValues } from '../../src/cli/copy-images.ts';
import { copyAll } from '../../src/cli/copying.ts';
import { IDENTITY_BLOB } from '../../src/image/maintenance/store-identity.ts';
import { originalKey } from '../../src/image/records/blob-keys.ts';
import { createReviews, heldKey, readReviews } from '../../src/image/review/reviews.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { sha256 } from '../../src/lib/secret.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { quarters } from '../support/images/images.ts';
import { asJson } from '../support/json.ts';
import { cli, cliCommand, cliEnvironment } from '../support/servers/cli.ts';
import { QUIET } from '../support/servers/quiet-server.ts';
import { logInto, startServer } from '../support/servers/server-process.ts';
import { image } from '../support/stores/records.ts';

const DAY_MS = 86_400_000;
let scratch: string;
let left: ReturnType<typeof leave> | undefined;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'picpool-backup-'));
});

afterAll(() => rm(scratch, { recursive: true }));

test('only new pictures are copied, and old backups go with their files once the new one is verified', async () => {
  const server = await startServer('bun', QUIET);
  const target = await place('kept');
  const backup = (...options: string[]) =>
    cli(['backup', target, ...options], { env: { DATA_DIR: server.folder } });
  const list = async () => (await cli(['restore', target, '--list'])).stdout.trim().split('\n');
  const [first, second] = [await upload(server.url), await upload(server.url)];
  expect((await backup()).stdout).toContain('2 images (2 copied now');
  await remove(server.url, first);
  const third = await upload(server.url);
  expect((await backup()).stdout).toContain('2 images (1 copied now');
  expect(await list()).toHaveLength(2);
  await age(target);

  await writeFile((await fileOf(target, second)) ?? '', (await stored(server.url, second)).fill(0));
  const damaged = await backup('--keep', '1', '--check');
  expect([damaged.code, damaged.stderr]).toEqual([1, expect.stringContaining(`${second} is not intact`)]);
  expect(await list()).toHaveLength(3);
  expect(await fileOf(target, first)).not.toBeNull();

  const whole = await backup('--keep', '1', '--check');
  expect([whole.code, whole.stdout]).toEqual([
    0,
    expect.stringContaining('3 old backups and 1 file removed'),
  ]);
  expect(await list()).toHaveLength(1);
  expect(await fileOf(target, first)).toBeNull();
  for (const id of [second, third]) expect(await fileOf(target, id)).not.toBeNull();
  expect(await server.stop()).toBe(0);
}, 180_000);

test('a backup goes to no place of another installation, nor over its images, and a damaged one is not restored', async () => {
  const [one, other] = [await startServer('bun', QUIET), await startServer('bun', QUIET)];
  await upload(one.url);
  await upload(other.url);
  const target = await place('claimed');
  const run = (words: string[], folder: string) => cli(words, { env: { DATA_DIR: folder } });
  expect((await run(['backup', target], one.folder)).code).toBe(0);
  const foreign = await run(['backup', target], other.folder);
  expect([foreign.code, foreign.stderr]).toEqual([1, expect.stringContaining('The target already holds')]);
  expect((await run(['restore', target], other.folder)).stderr).toContain(
    'stop the server, empty the stores',
  );
  const images = join(one.folder, 'images');
  expect((await run(['backup', images], one.folder)).stderr).toContain('TARGET is within');
  const records = (await fileOf(target, 'records_')) ?? '';
  await writeFile(records, 'damaged');
  const fresh = join(scratch, 'fresh');
  const refused = await run(['restore', target], fresh);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('are damaged')]);
  for (const server of [one, other]) expect(await server.stop()).toBe(0);
}, 180_000);

test('a clock that was wrong, or a damaged backup, costs no good one', async () => {
  const { folder: data, id } = await installed('data-1');
  const target = await place('ahead');
  const run = (...words: string[]) => cli(words, { env: { DATA_DIR: data } });
  expect((await run('backup', target)).code).toBe(0);
  const first = (await fileOf(target, 'records_')) ?? '';
  const key = basename(first).replace('_', '/').replace(/\d{8}/, '20990101');
  const { folder, path: future } = placeOf(target, key);
  await mkdir(folder, { recursive: true });
  await rename(first, future);
  const again = await run('backup', target, '--keep', '1');
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('one of 1')]);
  const [made = ''] = (await run('restore', target, '--list')).stdout.split('\n');
  expect(made.slice(0, 8)).toBe('20990101');
  expect(await fileOf(target, basename(future))).toBeNull();

  expect((await run('backup', target)).code).toBe(0);
  const [second = ''] = (await run('restore', target, '--list')).stdout.split('\n');
  await writeFile((await fileOf(target, `records_${second}`)) ?? '', 'damaged');
  await age(target);
  const beside = await run('backup', target, '--keep', '2');
  expect([beside.code, beside.stderr]).toEqual([0, expect.stringContaining(`${second} does not count`)]);
  // Of backups that are older than a good one, nothing is read.
  const listed = await run('restore', target, '--list');
  expect([listed.stdout, listed.stderr]).toEqual([expect.stringContaining(made), '']);
  expect(await fileOf(target, id)).not.toBeNull();
}, 180_000);

test.each([
  ['14 years', { ahead: 14 * 365 * DAY_MS, server: 0, later: 0 }],
  ['a week that has passed since', { ahead: 7 * DAY_MS, server: 0, later: 8 * DAY_MS }],
  ['that of the server, by a week', { ahead: 7 * DAY_MS, server: 7 * DAY_MS, later: 8 * DAY_MS }],
])(
  'what was deleted or revoked after a backup stays so, although its clock was ahead by %s',
  async (name, { ahead, server: serverAhead, later }) => {
    const logs = ['before', 'after', 'acts'].map((kind) => join(scratch, `${kind}-${name}.log`));
    const [old = '', recent = '', acts = ''] = logs;
    const shifted = (ms: number) => ({
      BUN_OPTIONS: `--preload ${join(import.meta.dir, '../support/servers/shift-clock.ts')}`,
      CLOCK_SHIFT_MS: String(ms),
    });
    const folder = await place(`data-8-${name}`);
    const settings = { ...QUIET, AUDIT_LOG: acts };
    const before = await startServer('bun', { ...settings, ...shifted(serverAhead) }, folder, logInto(old));
    const [gone, kept] = [await upload(before.url), await upload(before.url)];
    const target = await place(`ahead-by-${name}`);
    const run = (env: Record<string, string>, ...words: string[]) =>
      cli(words, { env: { ...settings, DATA_DIR: folder, ...env } });
    const token = (ms: number, ...words: string[]) => run(shifted(ms), 'token', ...words);
    const was = [
      await token(serverAhead, 'create', 'reused'),
      await token(serverAhead, 'revoke', 'reused'),
      await token(serverAhead, 'create', 'reused'),
      await token(serverAhead, 'create', 'leaked'),
      await run(shifted(ahead), 'backup', target),
    ];
    expect(was.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
    expect(await before.stop()).toBe(0);
    const server = await startServer('bun', settings, folder, logInto(recent));
    await remove(server.url, gone);
    expect(await server.stop()).toBe(0);
    expect((await token(0, 'revoke', 'leaked')).code).toBe(0);
    const env = { ...shifted(later), DATA_DIR: await place(`data-9-${name}`) };
    const restored = await run(env, 'restore', target, ...logs.flatMap((log) => ['--log', log]));
    expect([restored.code, restored.stdout]).toEqual([
      0,
      expect.stringContaining('1 image left out, 1 token revoked'),
    ]);
    expect((await run(env, 'token', 'list')).stdout).toMatch(/ reused /);
    // The log itself is in the backup, as far as it went.
    expect((await run(env, 'log')).stdout).toMatch(
      /^\{"id":"[\w-]+","time":"\S+","what":"token.create","subject":"token reused"/,
    );
    const again = await startServer('bun', QUIET, env.DATA_DIR);
    expect(await listed(again.url)).toEqual([kept]);
    expect(await again.stop()).toBe(0);
  },
  180_000,
);

test('a backup beside a picture that is lost keeps its own wrong file and says so', async () => {
  const server = await startServer('bun', QUIET, await place('data-2'));
  const id = await upload(server.url);
  const target = await place('last');
  const run = (...words: string[]) => cli(words, { env: { DATA_DIR: server.folder } });
  expect((await run('backup', target)).code).toBe(0);
  const copy = (await fileOf(target, id)) ?? '';
  await writeFile(copy, (await stored(server.url, id)).fill(0));
  expect(await server.stop()).toBe(0);
  await rm((await fileOf(join(server.folder, 'images'), id)) ?? '');
  const checked = await run('backup', target, '--check');
  expect([checked.code, checked.stderr]).toEqual([4, expect.stringContaining('cannot be replaced')]);
  expect((await stat(copy)).size).toBeGreaterThan(0);
}, 180_000);

test('a picture without a file is named by each backup, whose record of it waits for the file, and old ones go', async () => {
  const server = await startServer('bun', QUIET, await place('data-10'));
  const target = await place('lacking');
  const run = (...words: string[]) => cli(words, { env: { DATA_DIR: server.folder } });
  const early = await upload(server.url);
  expect((await run('backup', target)).code).toBe(0);
  await remove(server.url, early);
  const lost = await upload(server.url);
  expect(await server.stop()).toBe(0);
  const aside = join(scratch, 'lost');
  const file = (await fileOf(join(server.folder, 'images'), lost)) ?? '';
  await rename(file, aside);
  await age(target);
  const lacking = await run('backup', target, '--keep', '1');
  expect([lacking.code, lacking.stdout]).toEqual([
    4,
    expect.stringContaining('1 old backup and 1 file removed'),
  ]);
  expect(lacking.stderr).toContain(`image ${lost} has no file\nThe stores have lost the files of 1 image`);

  const DATA_DIR = await place('data-11');
  const restore = () => cli(['restore', target], { env: { DATA_DIR } });
  const without = await restore();
  expect([without.code, without.stderr]).toEqual([1, expect.stringContaining(`image ${lost} has no file`)]);
  await mkdir(dirname(file.replace(server.folder, DATA_DIR)), { recursive: true });
  await rename(aside, file.replace(server.folder, DATA_DIR));
  expect((await restore()).code).toBe(0);
  const again = await startServer('bun', QUIET, DATA_DIR);
  expect(await listed(again.url)).toEqual([lost]);
  expect(await again.stop()).toBe(0);
}, 180_000);

test('two backups that begin in one second have names of their own', async () => {
  const { folder } = await installed('data-12');
  const target = await place('at-once');
  const begin = () => cli(['backup', target], { env: { DATA_DIR: folder } });
  for (const { code } of await Promise.all([begin(), begin()])) expect(code).toBe(0);
  const names = (await cli(['restore', target, '--list'])).stdout.trim().split('\n');
  expect(new Set(names).size).toBe(2);
  for (const name of names) {
    const restored = await cli(['restore', target, '--at', name], { env: { DATA_DIR: await place(name) } });
    expect([restored.code, restored.stdout]).toEqual([0, expect.stringContaining(name)]);
  }
}, 180_000);

test('a backup that does not fit into DATA_DIR is refused before it fills that, and names the folder if it does', async () => {
  const { folder: DATA_DIR } = await installed('data-13');
  const target = await place('small');
  const { size } = await stat(join(DATA_DIR, 'picpool.db'));
  const within = async (space: string, ...command: string[]) => {
    const mount = `mount -t tmpfs -o ${space} tmpfs "$DATA_DIR/tmp" && exec "$@"`;
    const words = ['--map-root-user', '--mount', 'sh', '-c', mount, 'sh', ...cliCommand(command)];
    const child = Bun.spawn(['unshare', ...words], { env: cliEnvironment({ DATA_DIR }), stderr: 'pipe' });
    return [await child.exited, await child.stderr.text()];
  };
  const backup = (bytes: number) => within(`size=${bytes}`, 'backup', target);
  expect(await within('nr_inodes=2', 'migrate', '--to-blobs', `file:${scratch}/moved`)).toEqual([
    1,
    expect.stringMatching(/^picpool: There is no space left in \S+\/tmp\. \(ENOSPC.*\n$/),
  ]);
  expect(await backup(size - 4096)).toEqual([
    1,
    expect.stringMatching(/needs .* while it is made; .* are free/),
  ]);
  expect(await backup(size + 4096)).toEqual([
    1,
    expect.stringContaining('No space is left in TARGET or in DATA_DIR'),
  ]);
  expect((await cli(['backup', target], { env: { DATA_DIR } })).code).toBe(0);
}, 60_000);

test('a backup whose place lost its images meanwhile, as when a disk is unmounted, is not made', async () => {
  const files = new Map([[IDENTITY_BLOB, { key: IDENTITY_BLOB, size: 1, modified: 0 }]]);
  const target = await place('unmounted');
  const { blobs } = await openStores('sqlite::memory:', `file:${target}`, { runtime: bunRuntime });
  const path = join(scratch, 'records-of-unmounted');
  await writeFile(path, 'records');
  const storing = storeBackup(blobs, path, { began: new Date(), files });
  await expect(storing).rejects.toThrow('TARGET was removed, emptied or unmounted');
  expect((await filesIn(blobs)).size).toBe(0);
});

test('a database on a disk that is read-only is named, with what to do', async () => {
  const { folder: DATA_DIR } = await installed('data-read-only');
  const words = ['mount --bind "$DATA_DIR" "$DATA_DIR" && mount -o remount,ro,bind "$DATA_DIR" && exec "$@"'];
  const command = [...words, 'sh', ...cliCommand(['backup', await place('from-read-only')])];
  const child = Bun.spawn(['unshare', '--map-root-user', '--mount', 'sh', '-c', ...command], {
    env: cliEnvironment({ DATA_DIR }),
    stderr: 'pipe',
  });
  expect([await child.exited, await child.stderr.text()]).toEqual([
    1,
    expect.stringMatching(/picpool\.db cannot be used \(EROFS\)\. Its disk is read-only: copy/),
  ]);
}, 60_000);

test('a picture that is deleted while a backup runs stays in the backups before', async () => {
  const server = await startServer('bun', QUIET, await place('data-6'));
  const id = await upload(server.url);
  const target = await place('deleted-meanwhile');
  expect((await cli(['backup', target], { env: { DATA_DIR: server.folder } })).code).toBe(0);
  const files = `file:${target}`;
  const source = await openStores(`sqlite:${server.folder}/picpool.db`, `file:${server.folder}/images`, {
    runtime: bunRuntime,
  });
  const copy = await openStores('sqlite::memory:', files, { runtime: bunRuntime });
  const summary = async () => {
    await remove(server.url, id);
    return source.proxies.summary();
  };
  const options = { verify: false, live: true, folder: scratch, terminal: quiet };
  const meanwhile = { ...source, proxies: { ...source.proxies, summary } };
  await copyAll(meanwhile, { metadata: copy, blobs: copy.blobs }, options);
  expect(await copy.images.get(id)).toBeNull();
  expect(await fileOf(target, id)).not.toBeNull();
  await Promise.all([source.close(), copy.close()]);
  const restored = await cli(['restore', target], { env: { DATA_DIR: await place('data-7') } });
  expect([restored.code, restored.stdout]).toEqual([0, expect.stringContaining('1 image (1 copied now')]);
  expect(await server.stop()).toBe(0);
}, 180_000);

test('a picture that is approved while a backup runs is in it, each in review has its file, and one decided since loses it', async () => {
  const open = async (name: string) =>
    openStores('sqlite::memory:', `file:${await place(name)}`, { runtime: bunRuntime });
  const [source, copy] = [await open('approving'), await open('approved')];
  const reviews = createReviews({ ...source, clock: systemClock, onStored() {}, discard: async () => {} });
  const hold = async (text: string) => {
    const one = image({ id: text.repeat(12), size: 1, hash: sha256(text) });
    await writeFile(join(scratch, text), text);
    await reviews.hold(one, join(scratch, text));
    return one;
  };
  const [before, half] = [await hold('a'), await hold('b')];
  // As an approval does that is interrupted.
  await source.blobs.move(heldKey(half), originalKey(half));
  // After the images, which is where the files are listed.
  async function* list() {
    yield* source.blobs.list();
    await reviews.decide(before.id, 'allow');
    await hold('c');
    await source.audit.append({ id: 'a', at: 1, day: 0, subject: 'token a', text: '{}' }, DONE);
  }
  const options = { verify: false, live: true, folder: scratch, terminal: quiet };
  const meanwhile = { ...source, blobs: { ...source.blobs, list } };
  const { lost } = await copyAll(meanwhile, { metadata: copy, blobs: copy.blobs }, options);
  expect(lost).toEqual([]);
  const held = await readReviews(copy.state);
  expect(held.map(({ id }) => id)).toEqual([before.id, half.id]);
  for (const one of held) expect(await copy.blobs.stat(heldKey(one))).not.toBeNull();
  // A restore does not revoke a token again if the log of acts in the backup says that it was revoked.
  expect(await copy.audit.list({ limit: 1 })).toEqual([]);
  const move = (remove = copy.blobs.remove) =>
    copyValues(source, { state: copy.state, blobs: { ...copy.blobs, remove } }, { ...options, live: false });
  await reviews.decide(half.id, 'block');
  await expect(move(() => Promise.reject(new Error('killed')))).rejects.toThrow('killed');
  await move();
  expect(await copy.blobs.stat(heldKey(half))).toBeNull();
  await Promise.all([source.close(), copy.close()]);
});

test('a restore stays unfinished until nothing is missing, and a server that starts ends it', async () => {
  const { folder, id: first, other: second } = await installed('data-3');
  const target = await place('unfinished');
  const run = (DATA_DIR: string, ...words: string[]) => cli(words, { env: { DATA_DIR } });
  expect((await run(folder, 'backup', target)).code).toBe(0);
  const copy = (await fileOf(target, first)) ?? '';
  await rename(copy, join(scratch, 'aside'));
  const fresh = await place('restored');
  for (let times = 0; times < 2; times++) {
    const { code, stderr } = await run(fresh, 'restore', target);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`image ${first} has no file`)]);
    expect(stderr).toContain(`to METADATA_URL=sqlite:${fresh}/picpool.db`);
  }
  const half = await run(fresh, 'backup', target, '--keep', '1');
  expect([half.code, half.stderr]).toEqual([1, expect.stringContaining('The restore of the backup')]);
  expect((await run(folder, 'backup', target, '--check')).code).toBe(0);
  const newer = await run(fresh, 'restore', target);
  expect([newer.code, newer.stderr]).toEqual([1, expect.stringContaining('continue it with --at')]);
  const log = join(scratch, 'unfinished.log');
  const begun = await startServer('bun', QUIET, fresh, logInto(log));
  expect(await readFile(log, 'utf8')).toContain('a restore was unfinished');
  expect(new Set(await listed(begun.url))).toEqual(new Set([first, second]));
  expect(await begun.stop()).toBe(0);
  const later = await run(fresh, 'restore', target, '--log', '/dev/null');
  expect([later.code, later.stderr]).toEqual([2, expect.stringContaining('has no line of a server')]);
  expect((await run(fresh, 'restore', target)).stdout).toContain('complete, from backup');
  expect(await fileOf(join(fresh, 'images'), first)).not.toBeNull();
}, 180_000);

test('a restore without the log that is followed by one with it names what should be gone', async () => {
  const log = join(scratch, 'forgotten.log');
  const server = await startServer('bun', QUIET, await place('data-14'), logInto(log));
  const gone = await upload(server.url);
  const target = await place('forgotten');
  expect((await cli(['backup', target], { env: { DATA_DIR: server.folder } })).code).toBe(0);
  await remove(server.url, gone);
  expect(await server.stop()).toBe(0);
  const env = { DATA_DIR: await place('data-15') };
  expect((await cli(['restore', target], { env })).code).toBe(0);
  const told = await cli(['restore', target, '--log', log], { env });
  expect([told.code, told.stderr]).toEqual([1, expect.stringContaining(`image ${gone} is there, although`)]);
}, 180_000);

test('a refused restore leaves no mark in the records', async () => {
  const one = await installed('one');
  const other = await startServer('bun', QUIET, await place('other'));
  const file = await upload(other.url);
  const target = await place('refused');
  expect((await cli(['backup', target], { env: { DATA_DIR: one.folder } })).code).toBe(0);
  await remove(other.url, file);
  expect(await other.stop()).toBe(0);
  const mark = await fileOf(join(other.folder, 'images'), 'picpool-files-id');
  await writeFile(mark ?? '', 'of a third installation');
  const refused = await cli(['restore', target], { env: { DATA_DIR: other.folder } });
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('another installation')]);
  const { Database } = await import('bun:sqlite');
  const database = new Database(join(other.folder, 'picpool.db'));
  expect(database.query("SELECT 1 FROM state WHERE key = 'restore-unfinished'").all()).toEqual([]);
  database.close();
}, 180_000);

test('a place that is empty, missing or within the data is refused, and so is a data folder that nobody named', async () => {
  const { folder } = await installed('data-4');
  const run = (...words: string[]) => cli(words, { env: { DATA_DIR: folder } });
  const within = join(folder, 'backups');
  await mkdir(within);
  for (const [target, said] of [
    ['', 'TARGET is empty'],
    [join(scratch, 'not-mounted'), 'create it first'],
    [within, 'TARGET is within'],
    ['s3://bucket?endpont=x', 'endpont is not a parameter of an s3: URL'],
  ] as const) {
    const refused = await run('backup', target);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(said)]);
  }
  const target = await place('empty');
  const none = await run('restore', target, '--list');
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('holds no backup.')]);
  expect((await run('backup', target)).code).toBe(0);
  const env = { DATA_DIR: await place('over-backups'), BLOBS_URL: `file:${target}` };
  const over = await cli(['restore', target], { env });
  expect([over.code, over.stderr]).toEqual([2, expect.stringContaining('BLOBS_URL holds backups')]);
  const cwd = await place('elsewhere');
  const unset = await cli(['restore', target], { cwd });
  expect([unset.code, unset.stderr]).toEqual([2, expect.stringContaining('DATA_DIR is not set')]);
  expect(await readdir(cwd)).toEqual([]);
}, 180_000);

test('after a migration, commands refuse the old stores, backups as well, which a server of proxies alone ends', async () => {
  const only = { ...QUIET, SERVICES: 'proxy', PROXY_REFRESH: 'off' };
  const { folder } = await installed('data-5');
  const run = (...words: string[]) => cli(words, { env: { DATA_DIR: folder } });
  const to = `sqlite:${join(await place('new'), 'picpool.db')}`;
  // Others see the command line, and a URL may hold a password.
  const secretly = (url: string) => cli(['migrate'], { env: { DATA_DIR: folder, PICPOOL_TO_METADATA: url } });
  expect(await secretly('x')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('PICPOOL_TO_METADATA must'),
  });
  expect((await secretly(to)).code).toBe(0);
  const backup = ['backup', await place('moved')];
  // A timer with the old settings must not go on as if nothing had happened.
  for (const words of [['token', 'list'], ['log'], backup]) {
    expect(await run(...words)).toMatchObject({ code: 2, stderr: expect.stringContaining(to) });
  }
  const again = await startServer('bun', only, folder);
  expect(await again.stop()).toBe(0);
  for (const words of [['token', 'list'], backup]) expect((await run(...words)).code).toBe(0);
}, 180_000);

test('a database whose header is destroyed counts as damaged, whatever command finds it', async () => {
  const folder = await place('header');
  await writeFile(join(folder, 'picpool.db'), Buffer.alloc(8192, 1));
  for (const words of [['serve', '--port', '0'], ['backup', await place('of-damaged')], ['log']]) {
    const { code, stderr } = await cli(words, { env: { ...QUIET, DATA_DIR: folder } });
    expect([code, stderr]).toEqual([3, expect.stringContaining('is damaged')]);
  }
}, 60_000);

test('a database of a newer version ends the start for good, so that no service tries again for ever', async () => {
  const folder = await place('newer');
  const { Database } = await import('bun:sqlite');
  const database = new Database(join(folder, 'picpool.db'));
  database.run('PRAGMA user_version = 99');
  database.close();
  const { code, stderr } = await cli(['serve', '--port', '0'], { env: { ...QUIET, DATA_DIR: folder } });
  expect([code, stderr]).toEqual([3, expect.stringContaining('Start the newer picpool')]);
}, 60_000);

test('the report of the field is created first, and never replaced', async () => {
  const path = join(scratch, 'report.json');
  await writeFile(path, 'old');
  const { code, stdout } = await cli(['doctor', '--field', path, '--for', '5s'], {
    env: { DATA_DIR: scratch },
  });
  expect([code, stdout]).toEqual([1, expect.stringContaining('exists already')]);
  expect(await readFile(path, 'utf8')).toBe('old');
}, 5_000);

test('a signal leaves a report of what was tried so far, and no folder', async () => {
  const asked = Promise.withResolvers<void>();
  const list = Bun.serve({
    ...{ hostname: '127.0.0.1', port: 0 },
    async fetch() {
      asked.resolve();
      return new Promise<Response>(() => {});
    },
  });
  const DATA_DIR = await place('field');
  const path = join(scratch, 'partial.json');
  const child = Bun.spawn(cliCommand(['doctor', '--field', path]), {
    env: cliEnvironment({ DATA_DIR, PROXY_SOURCES: `${list.url}`, PROXY_ALLOW_PRIVATE: 'true' }),
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  await asked.promise;
  child.kill('SIGTERM');
  expect(await child.exited).toBe(130);
  await list.stop(true);
  expect(JSON.parse(await readFile(path, 'utf8'))).toHaveProperty('machine');
  expect(await readdir(join(DATA_DIR, 'tmp'))).toEqual([]);
}, 60_000);

const quiet = {
  say() {},
  status() {},
  print: async () => {},
} as never;

/** A copy of the data that a server with two pictures has left. */
async function installed(name: string): Promise<{ folder: string; id: string; other: string }> {
  left ??= leave();
  const { folder: from, ...pictures } = await left;
  const folder = join(scratch, name);
  await cp(from, folder, { recursive: true, preserveTimestamps: true });
  return { folder, ...pictures };
}

async function leave() {
  const server = await startServer('bun', QUIET, await place('left'));
  const [id, other] = [await upload(server.url), await upload(server.url)];
  expect(await server.stop()).toBe(0);
  return { folder: server.folder, id, other };
}

/** Returns a new folder. */
async function place(name: string): Promise<string> {
  const folder = join(scratch, name);
  await mkdir(folder);
  return folder;
}

async function fileOf(folder: string, start: string): Promise<string | null> {
  const names = await readdir(folder, { recursive: true });
  const found = names.find((name) => basename(name).startsWith(start));
  return found === undefined ? null : join(folder, found);
}

/** Makes the files old enough to be removed. */
async function age(folder: string): Promise<void> {
  const past = new Date(Date.now() - 2 * 86_400_000);
  for (const name of await readdir(folder, { recursive: true })) await utimes(join(folder, name), past, past);
}

const stored = async (url: string, id: string) =>
  Buffer.from(await (await fetch(`${url}/i/${id}.png`)).arrayBuffer());

const picture = quarters().png().toBuffer();

async function upload(url: string, more = '', headers: Record<string, string> = {}): Promise<string> {
  const body = await picture;
  const answer = await fetch(`${url}/api/upload?format=png${more}`, { method: 'POST', headers, body });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { id: string }).id;
}

async function remove(url: string, id: string): Promise<void> {
  expect((await fetch(`${url}/api/delete/${id}`, { method: 'DELETE' })).status).toBe(200);
}

async function listed(url: string): Promise<string[]> {
  const answer = await fetch(`${url}/api/list?per_page=100`);
  const { images } = (await answer.json()) as { images: { id: string }[] };
  return images.map(({ id }) => id);
}

test('SQLite locks the database against other processes after every kind of read, so that a backup beside the server loses nothing', async () => {
  const server = await startServer('bun', QUIET);
  const path = join(server.folder, 'picpool.db');
  const before = [await upload(server.url), await upload(server.url)];
  const held = await locksOn(path);
  expect(held).not.toEqual([]);
  for (const read of await reads(server.url, before)) {
    await whole(`${server.url}${read}`);
    expect([read, await locksOn(path)]).toEqual([read, held]);
  }
  const exported = () => whole(`${server.url}/api/export`);
  // SQLite keeps the descriptor of a closed connection for the next one while others hold locks.
  await exported();
  const opened = (await readlinks(server.pid)).filter((one) => one.startsWith(path)).length;
  for (let times = 0; times < 5; times++) await exported();
  expect((await readlinks(server.pid)).filter((one) => one.startsWith(path))).toHaveLength(opened);

  const made = await cli(['backup', await place('beside')], { env: { DATA_DIR: server.folder } });
  expect(made.code).toBe(0);
  expect(await readlinks(server.pid)).not.toContainEqual(expect.stringContaining('(deleted)'));
  const after = [await upload(server.url), await upload(server.url)];
  server.kill('SIGKILL');
  await server.exited;
  const second = await startServer('bun', QUIET, server.folder);
  expect(await listed(second.url)).toEqual(expect.arrayContaining([...before, ...after]));
  expect(await second.stop()).toBe(0);
  await rm(server.folder, { recursive: true });
}, 180_000);

/** Every address that the API description can read, and more forms of those that open connections of their own. */
async function reads(url: string, [id = '']: string[]): Promise<string[]> {
  const made = await fetch(`${url}/api/albums`, asJson('POST', { title: 'Locks' }));
  const { id: album, token } = (await made.json()) as { id: string; token: string };
  await upload(url, `&album=${album}`, { 'x-album-token': token });
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, { get?: object }>;
  };
  const described = Object.entries(paths).filter(([, { get }]) => get);
  const filled = described.map(([path]) =>
    path.replace(/\{(\w+)\}/g, () => (/album|\/a\//.test(path) ? album : id)),
  );
  return [
    ...filled,
    ...['/', '/gallery', '/gallery?q=png', '/metrics', '/readyz', `/a/${album}`, `/a/${album}.zip`],
    ...['txt', 'csv', 'json'].map((format) => `/api/export?format=${format}`),
    ...['response_time', 'random'].map((sort) => `/api/export?status=all&sort=${sort}`),
    ...['/api/list?q=png', '/api/list?format=png&page=2', '/api/proxies?status=all&country=DE'],
  ];
}

/** Reads an answer to its end, or its beginning if it has none. */
async function whole(url: string): Promise<void> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(20_000) });
  if (answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer.body?.cancel();
  await answer.arrayBuffer();
}

/** The kinds and ranges of all locks that processes hold on the file. */
async function locksOn(path: string): Promise<string[]> {
  const { ino } = await stat(path);
  const lines = (await readFile('/proc/locks', 'utf8')).split('\n');
  return lines
    .filter((line) => line.includes(`:${ino} `))
    .map((line) => line.replace(/^\d+: /, ''))
    .sort();
}

/** What the open descriptors of a process lead to. */
async function readlinks(pid: number): Promise<string[]> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder);
  return Promise.all(names.map((name) => readlink(join(folder, name)).catch(() => '')));
}
