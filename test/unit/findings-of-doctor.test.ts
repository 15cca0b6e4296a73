import { expect, test } from 'bun:test';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { parseConfig } from '../../src/config.ts';
import { type Finding, fail } from '../../src/findings/finding.ts';
import { grouped } from '../../src/findings/network.ts';
import { auditLogFindings, fileFindings, openFindings } from '../../src/findings/settings.ts';
import { checkConversion } from '../../src/findings/system.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { localFolders } from '../../src/start/data-folder.ts';
import { absent } from '../support/absent.ts';
import { run } from '../support/run.ts';
import { withFolder } from '../support/temporary.ts';

test('the doctor groups equal problems', () => {
  const away = (about: string): Finding => ({ level: 'warn', about, text: 'could not be reached' });
  expect(grouped([away('a'), { level: 'ok', text: 'fine' }, ...['b', 'c', 'd', 'e'].map(away)])).toEqual([
    { level: 'warn', about: 'a', text: 'a, b, c and 2 more: could not be reached' },
    { level: 'ok', text: 'fine' },
  ]);
});

test('everything that the settings leave open comes with the setting that closes it', () => {
  const token = 'a-token-of-sixteen';
  const open = (env: Record<string, string>) => openFindings(parseConfig(env), () => token);
  const all = open({});
  expect(all.map(({ about }) => about)).toEqual([
    'administrator',
    'upload',
    'listing',
    'deletion',
    'public_url',
    'trusted_proxies',
  ]);
  const closed = Object.fromEntries(all.map(({ advice = '' }) => advice.split('=') as [string, string]));
  expect(open(closed)).toEqual([]);
  expect(open({ SERVICES: 'proxy' }).map(({ about }) => about)).toEqual([
    'administrator',
    'public_url',
    'trusted_proxies',
  ]);
});

test('files of the settings that the server could not use are named before it starts', async () => {
  const config = parseConfig({
    ABUSE_CONTACT: 'abuse@example.com',
    TERMS: '/nowhere/terms',
    BLOCK_HASHES: import.meta.path,
    PROXY_COUNTRY_DB: import.meta.dir,
  });
  expect(await fileFindings(config)).toEqual([
    fail('TERMS names a file that cannot be read: /nowhere/terms'),
    fail(`PROXY_COUNTRY_DB names a file that cannot be read: ${import.meta.dir}`),
  ]);
  expect(await fileFindings(parseConfig({}))).toEqual([]);
});

test('AUDIT_LOG must be a file or a URL that can take lines, which is told before there is one', async () => {
  const absent = `${tmpdir()}/picpool-no-acts.jsonl`;
  await rm(absent, { force: true });
  for (const [AUDIT_LOG, isFit] of Object.entries({
    '/nowhere/acts.jsonl': false,
    [tmpdir()]: false,
    '/dev/null': false,
    [import.meta.path]: true,
    [absent]: true,
    'https://acts.example/': true,
  }))
    for (const mayCreate of [false, true])
      expect([AUDIT_LOG, (await auditLogFindings({ AUDIT_LOG }, mayCreate)).length === 0]).toEqual([
        AUDIT_LOG,
        isFit,
      ]);
  await rm(absent);
});

test('free space counts where stores are files of this machine', () => {
  const folders = (METADATA_URL: string, BLOBS_URL: string) => localFolders({ METADATA_URL, BLOBS_URL });
  expect(folders('sqlite:/records/picpool.db', 'file:/pictures')).toEqual(['/pictures', '/records']);
  expect(folders('sqlite::memory:', 'file:/pictures')).toEqual(['/pictures']);
  expect(folders('redis://db', 's3://bucket')).toEqual([]);
});

test('the doctor does not look for sharp if the data folder cannot be used', async () => {
  const runtime = { ...bunRuntime, selfCommand: () => ['/bin/false'] };
  // Beside a folder that cannot be made, a temporary one is used.
  for (const [DATA_DIR, word] of Object.entries({ '/dev/null': 'chown', '/dev/null/x': 'sharp' }))
    expect(await checkConversion({ config: parseConfig({ DATA_DIR }), env: {}, runtime })).toEqual([
      { level: 'fail', text: expect.any(String), advice: expect.stringContaining(word) },
    ]);
});

test.skipIf(absent('unshare'))(
  'the doctor tells no free space of a disk without a size, and does not call it full',
  () =>
    withFolder(async (DATA_DIR) => {
      const mount = 'mount -t tmpfs -o size=0 tmpfs "$DATA_DIR" && exec "$@"';
      const doctor = [process.execPath, 'src/main.ts', 'doctor', '--offline'];
      const lines = await run(['unshare', '--map-root-user', '--mount', 'sh', '-c', mount, 'sh', ...doctor], {
        env: { ...process.env, DATA_DIR, PORT: '0' },
      });
      expect(lines).toContain(`ok    data folder        ${DATA_DIR}\n`);
    }),
);
