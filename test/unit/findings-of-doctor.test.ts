import { expect, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { parseConfig } from '../../src/config.ts';
import { type Finding, fail, ok } from '../../src/findings/finding.ts';
import { grouped } from '../../src/findings/network.ts';
import { auditLogFindings, fileFindings, openFindings } from '../../src/findings/settings.ts';
import { checkConversion, checkFolder } from '../../src/findings/system.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { localFolders } from '../../src/start/data-folder.ts';

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
  });
  expect(await fileFindings(config)).toEqual([
    fail('TERMS names a file that cannot be read: /nowhere/terms'),
  ]);
  expect(await fileFindings(parseConfig({}))).toEqual([]);
});

test('AUDIT_LOG must be a file or a URL that can take lines, which is told before there is one', async () => {
  for (const [AUDIT_LOG, isFit] of Object.entries({
    '/nowhere/acts.jsonl': false,
    [tmpdir()]: false,
    '/dev/null': false,
    [import.meta.path]: true,
    [`${tmpdir()}/picpool-no-acts.jsonl`]: true,
    'https://acts.example/': true,
  }))
    expect([AUDIT_LOG, (await auditLogFindings({ AUDIT_LOG })).length === 0]).toEqual([AUDIT_LOG, isFit]);
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

test.skipIf(process.platform !== 'linux' || process.getuid?.() !== 0)(
  'the doctor tells no free space of a disk without a size, and does not call it full',
  async () => {
    const patient = { config: parseConfig({ DATA_DIR: '/proc' }), env: {}, runtime: bunRuntime };
    expect(await checkFolder(patient)).toEqual([ok('/proc')]);
  },
);
