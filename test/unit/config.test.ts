import { describe, expect, test } from 'bun:test';
import { parseConfig } from '../../src/config.ts';
import { ConfigError } from '../../src/errors.ts';
import { credentialsOf } from '../../src/start/credentials.ts';
import { words } from '../support/words.ts';

function faultsOf(env: Record<string, string>): Record<string, string> {
  try {
    parseConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) {
      return Object.fromEntries(error.faults.map(({ variable, message }) => [variable, message]));
    }
    throw error;
  }
  return {};
}

describe('parseConfig', () => {
  test('an empty environment gives the documented defaults', () => {
    expect(parseConfig({})).toMatchObject({
      HOST: '0.0.0.0',
      PORT: 3000,
      METADATA_URL: 'sqlite:./data/picpool.db',
      BLOBS_URL: 'file:./data/images',
      SERVICES: ['proxy', 'image'],
      RATE_LIMITS: { upload: { capacity: 60, perSecond: 1 } },
      PROXY_REFRESH_INTERVAL: 3_600_000,
      PROXY_CHECK_TIMEOUT: 8000,
      IMAGE_MAX_UPLOAD: 32 * 1024 * 1024,
      IMAGE_RETENTION: 90 * 86_400_000,
    });
  });

  test('a webhook secret is one of Standard Webhooks, or any other with 16 characters', () => {
    const secrets = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'sixteen-letters!'];
    for (const WEBHOOK_SECRET of secrets)
      expect(parseConfig({ WEBHOOK_SECRET })).toMatchObject({ WEBHOOK_SECRET });
    for (const WEBHOOK_SECRET of ['whsec_short', 'whsec_this-is-no-base64-but-it-is-quite-long', 'short']) {
      expect(Object.keys(faultsOf({ WEBHOOK_SECRET }))).toEqual(['WEBHOOK_SECRET']);
      // It is invalid, and not missing.
      const both = faultsOf({ WEBHOOK_SECRET, WEBHOOK_URLS: 'https://a.example/' });
      expect(both.WEBHOOK_SECRET).toStartWith('must be whsec_');
    }
  });

  test('half a pair of keys is invalid, as is a session token without keys, or rules that no page would show', () => {
    expect(Object.keys(faultsOf({ TERMS: 'rules.txt' }))).toEqual(['ABUSE_CONTACT']);
    const [AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN] = ['key', 'secret', 'token'];
    expect(faultsOf({ AWS_ACCESS_KEY_ID })).toEqual({
      AWS_SECRET_ACCESS_KEY: 'must be set where AWS_ACCESS_KEY_ID is',
    });
    expect(Object.keys(faultsOf({ AWS_SECRET_ACCESS_KEY }))).toEqual(['AWS_ACCESS_KEY_ID']);
    expect(Object.keys(faultsOf({ AWS_SESSION_TOKEN }))).toEqual(['AWS_ACCESS_KEY_ID']);
    const keys = { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY };
    expect(credentialsOf(parseConfig({ ...keys, AWS_SESSION_TOKEN }))).toEqual({
      accessKeyId: 'key',
      secretAccessKey: 'secret',
      sessionToken: 'token',
    });
    expect(credentialsOf(parseConfig(keys))).toEqual({ accessKeyId: 'key', secretAccessKey: 'secret' });
    expect(credentialsOf(parseConfig({}))).toBeUndefined();
  });

  test('a variable that is empty or blank counts as not set', () => {
    expect(parseConfig({ PORT: '', HOST: '  ' })).toMatchObject({ PORT: 3000, HOST: '0.0.0.0' });
  });

  test('an address of IPv6 is listened on without the brackets that it has in URLs', () => {
    expect(parseConfig({ HOST: '::1' }).HOST).toBe('::1');
    expect(faultsOf({ HOST: '[::1]' }).HOST).toContain('such as 127.0.0.1 or ::1');
  });

  test('the stores follow DATA_DIR unless they are set', () => {
    const config = parseConfig({ DATA_DIR: '/var/lib/picpool', BLOBS_URL: 's3://bucket/prefix' });
    expect(config.METADATA_URL).toBe('sqlite:/var/lib/picpool/picpool.db');
    expect(config.BLOBS_URL).toBe('s3://bucket/prefix');
    for (const name of ['$DATA_DIR', '$' + '{DATA_DIR}']) {
      const odd = { DATA_DIR: '/a $& b', METADATA_URL: `sqlite:${name}/picpool.db` };
      expect(parseConfig(odd).METADATA_URL).toBe('sqlite:/a $& b/picpool.db');
    }
  });

  test('all faults are reported at once, by variable', () => {
    const faults = faultsOf({
      PORT: '99999',
      SERVICES: 'proxy,mail',
      TRUSTED_PROXIES: '10.0.0.0/8,somewhere',
      IMAGE_MAX_UPLOAD: 'huge',
      PROXY_REFRESH_INTERVAL: '10',
      METADATA_URL: 'mysql://root:secret@host',
      ADMIN_TOKEN: 'short',
      PROXY_BASE_PATH: 'proxy',
    });
    expect(Object.keys(faults).sort()).toEqual(words`
      ADMIN_TOKEN IMAGE_MAX_UPLOAD METADATA_URL PORT PROXY_BASE_PATH PROXY_REFRESH_INTERVAL SERVICES TRUSTED_PROXIES
    `);
  });

  test('a fault says what is wrong and what would be right', () => {
    expect(faultsOf({ PORT: 'http' }).PORT).toBe('must be an integer from 0 to 65535, not "http"');
    expect(faultsOf({ PROXY_CHECK_TIMEOUT: '5 parsecs' }).PROXY_CHECK_TIMEOUT).toContain('30s, 5m, 1h or 7d');
  });

  test('what is left of a value whose variables were not set is refused', () => {
    const lists = words`
      ALLOWED_HOSTS TRUSTED_PROXIES CORS_ORIGINS PROXY_JUDGES PROXY_WITNESSES SERVICES IMAGE_CLIENTS GATEWAY_PORTS
    `;
    for (const name of lists)
      expect(faultsOf({ [name]: ' , ' })[name]).toBe('must name at least one, not ","');
    for (const BLOBS_URL of ['file:', 'file:///', 's3://'])
      expect(faultsOf({ BLOBS_URL }).BLOBS_URL).toBe('must be a whole URL that begins with file: or s3:');
  });

  test('quotes that nobody has removed are refused: data would go to a folder with quotes in its name, and no token would fit', () => {
    const message = 'must not be in quotes: they would be part of it';
    for (const [name, value] of [
      ['DATA_DIR', '"/data"'],
      ['ADMIN_TOKEN', "'sixteen-letters-'"],
      ['METADATA_URL', '"postgres://a:secret@b/c"'],
    ] as const)
      expect(faultsOf({ [name]: value })).toEqual({ [name]: message });
    expect(faultsOf({ PROXY_TARGETS: 'a=https://shop.example/#200~"b"' })).toEqual({});
  });

  test('what could never be reached is refused', () => {
    for (const PROXY_BASE_PATH of ['/..', '/.', '/a/../b', '/a/.'])
      expect(Object.keys(faultsOf({ PROXY_BASE_PATH }))).toEqual(['PROXY_BASE_PATH']);
    expect(parseConfig({ PROXY_BASE_PATH: '/.well/...' }).PROXY_BASE_PATH).toBe('/.well/...');
  });

  test('the value of a variable that may hold a secret is not repeated', () => {
    const faults = faultsOf({ METADATA_URL: 'mysql://root:secret@host', ADMIN_TOKEN: 'tiny' });
    expect(JSON.stringify(faults)).not.toMatch(/secret|tiny/);
  });

  test.each([
    ['250ms', 250],
    ['30s', 30_000],
    ['1.5h', 5_400_000],
    ['7d', 604_800_000],
  ])('the duration %s is read as %d ms', (text, ms) => {
    expect(parseConfig({ PROXY_DEAD_RETENTION: '1h', PROXY_CHECK_TIMEOUT: text }).PROXY_CHECK_TIMEOUT).toBe(
      ms,
    );
  });

  test.each([
    ['2048', 2048],
    ['500KB', 500_000],
    ['1 MiB', 1_048_576],
  ])('the size %s is read as %d bytes', (text, size) => {
    expect(parseConfig({ IMAGE_MAX_UPLOAD: text }).IMAGE_MAX_UPLOAD).toBe(size);
  });

  test('services come in a fixed order, each once', () => {
    expect(parseConfig({ SERVICES: 'Image, proxy,image' }).SERVICES).toEqual(['proxy', 'image']);
  });
});

test('deletion by address works always, for a time, or not at all', () => {
  const parsed = (text: string) => parseConfig({ IMAGE_DELETE_BY_ADDRESS: text }).IMAGE_DELETE_BY_ADDRESS;
  expect(['', 'always', '1h', 'off'].map(parsed)).toEqual([Infinity, Infinity, 3_600_000, 0]);
  expect(() => parsed('sometimes')).toThrow('must be always, off, or a duration');
});

test('proxies can be named by keyword, and counted only if the nearest is trusted', () => {
  const { TRUSTED_PROXIES } = parseConfig({ TRUSTED_PROXIES: 'loopback, Private,203.0.113.1' });
  expect(TRUSTED_PROXIES).toEqual(
    expect.arrayContaining(['127.0.0.0/8', '::1', '192.168.0.0/16', '203.0.113.1']),
  );
  expect(() => parseConfig({ TRUSTED_PROXIES: 'everybody' })).toThrow('neither an IP address nor a network');
  expect(() => parseConfig({ TRUSTED_HOPS: '2' })).toThrow('must name the nearest proxy');
  expect(parseConfig({ TRUSTED_HOPS: '2', HOST: 'unix:/run/picpool.sock' }).TRUSTED_HOPS).toBe(2);
});

test('the base of links is scheme, host and a path, and nothing else', () => {
  const faultOf = (PUBLIC_URL: string) => {
    try {
      return parseConfig({ PUBLIC_URL }).PUBLIC_URL;
    } catch (error) {
      return (error as Error).message;
    }
  };
  const fault = 'PUBLIC_URL must be a URL such as https://img.example or https://example.org/pics';
  expect(faultOf('https://example.org/pics/')).toBe('https://example.org/pics');
  for (const wrong of [
    'img.example',
    'ftp://img.example',
    'https://img.example/?a',
    'https://u:p@img.example/',
    'https://img.example/a;b',
  ]) {
    expect([wrong, faultOf(wrong)]).toEqual([wrong, fault]);
  }
});

test('a replica for lists is refused if the records are not in Postgres', () => {
  const METADATA_READ_URL = 'postgres://replica/x';
  expect(Object.keys(faultsOf({ METADATA_READ_URL, METADATA_URL: 'redis://db' }))).toEqual([
    'METADATA_READ_URL',
  ]);
  expect(parseConfig({ METADATA_READ_URL, METADATA_URL: 'postgres://db/x' }).METADATA_READ_URL).toBe(
    METADATA_READ_URL,
  );
});

test('what a timer waits is at most 24 days, because a longer one would end at once', () => {
  expect(() => parseConfig({ IMAGE_CONVERT_TIMEOUT: '25d' })).toThrow('from 100ms to 24d');
  expect(parseConfig({ IMAGE_CONVERT_TIMEOUT: '24d', IMAGE_RETENTION: '365d' }).IMAGE_RETENTION).toBe(
    365 * 86_400_000,
  );
});
