import { expect, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withSecretFiles } from '../../src/cli/secret-files.ts';
import { parseConfig, SECRETS, settings } from '../../src/config.ts';
import { ConfigError } from '../../src/errors.ts';
import { masked } from '../../src/lib/masked.ts';
import { sharedFolder } from '../support/shared.ts';

const folder = await sharedFolder();

async function fileOf(content: string): Promise<string> {
  const path = join(folder, crypto.randomUUID());
  await writeFile(path, content);
  return path;
}

async function faultsOf(env: Record<string, string>): Promise<Record<string, string>> {
  const error = await withSecretFiles(env).catch((fault: unknown) => fault);
  if (!(error instanceof ConfigError)) throw error;
  return Object.fromEntries(error.faults.map(({ variable, message }) => [variable, message]));
}

test('every setting that is shown masked can come from a file', () => {
  const hidden = Object.keys(settings).filter((name) => masked(name, 'abc') === '***');
  expect([...SECRETS]).toEqual(expect.arrayContaining(hidden.filter((name) => name !== 'WEBHOOK_URLS')));
});

test('each secret is read from the file that NAME_FILE names, without the line end', async () => {
  const values: Record<string, string> = {
    METADATA_URL: 'postgres://user:secret@db:5432/x',
    METADATA_READ_URL: 'postgres://user:secret@replica:5432/x',
    LIMITS_URL: 'redis://user:other@limits:6379',
    AWS_SECRET_ACCESS_KEY: 'secret/key+',
    AWS_SESSION_TOKEN: 'session-token',
    ADMIN_TOKEN: 'token-of-the-administrator',
    METRICS_TOKEN: 'token-of-the-metrics',
    MCP_READ_TOKEN: 'token-of-the-readers',
    MCP_WRITE_TOKEN: 'token-of-the-writers',
    IMAGE_SCAN_SECRET: 'secret-of-the-scan',
    WEBHOOK_SECRET: 'secret-of-the-webhooks',
  };
  expect(Object.keys(values).sort()).toEqual([...SECRETS].sort());
  const env: Record<string, string> = { AWS_ACCESS_KEY_ID: 'key' };
  for (const [name, value] of Object.entries(values)) env[`${name}_FILE`] = await fileOf(`${value}\n`);
  expect(parseConfig(await withSecretFiles(env))).toMatchObject(values);
});

test('a secret together with its file is invalid, as is a file that is missing, a folder, empty or too long', async () => {
  const file = await fileOf('token-of-the-administrator');
  expect(await faultsOf({ ADMIN_TOKEN: 'another-token-of-sixteen', ADMIN_TOKEN_FILE: file })).toEqual({
    ADMIN_TOKEN_FILE: 'must not be set where ADMIN_TOKEN is',
  });
  const wrong: [path: string, message: RegExp][] = [
    [join(folder, 'none'), /can be read.*ENOENT/],
    [folder, /can be read.*EISDIR/],
    [await fileOf(' \n'), /is empty/],
    [await fileOf('x'.repeat(70_000)), /at most 65536 bytes/],
  ];
  for (const [path, message] of wrong) {
    expect((await faultsOf({ ADMIN_TOKEN_FILE: path })).ADMIN_TOKEN_FILE).toMatch(message);
  }
});

test('a secret that a program writes to a pipe piece by piece is read to its end', async () => {
  const path = join(folder, 'pipe');
  await Bun.$`mkfifo ${path}`;
  const script = '(printf token-of-; sleep 0.3; echo the-administrator) > "$0"';
  const writing = Bun.spawn(['sh', '-c', script, path]);
  const { ADMIN_TOKEN } = await withSecretFiles({ ADMIN_TOKEN_FILE: path });
  await writing.exited;
  expect(ADMIN_TOKEN).toBe('token-of-the-administrator');
});

test('other faults are reported together, without those caused by the file', async () => {
  const faults = await faultsOf({
    PORT: 'x',
    WEBHOOK_URLS: 'https://hook.example/',
    WEBHOOK_SECRET_FILE: join(folder, 'none'),
  });
  expect(Object.keys(faults)).toEqual(['WEBHOOK_SECRET_FILE', 'PORT']);
});
