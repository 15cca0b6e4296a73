import { expect, test } from 'bun:test';
import { parsePostgresUrl } from '../../adapters/postgres/url.ts';
import { parseRedisUrl } from '../../adapters/redis/url.ts';
import { FILE_SCHEMES, filesAdapter, RECORD_SCHEMES, recordsAdapter } from '../../adapters/registry.ts';
import { parseS3Url } from '../../adapters/s3/url.ts';
import { parseConfig } from '../../src/config.ts';

test('a redis: URL names server, user, database and prefix, all optional', () => {
  expect(parseRedisUrl('redis://db')).toEqual({
    servers: [{ host: 'db', port: 6379 }],
    tls: false,
    database: 0,
    prefix: 'picpool',
    cluster: false,
  });
  expect(parseRedisUrl('rediss://us%2Fer:p%40ss%3A@[::1]:7000/3?prefix=a:b')).toEqual({
    servers: [{ host: '::1', port: 7000 }],
    tls: true,
    username: 'us/er',
    password: 'p@ss:',
    database: 3,
    prefix: 'a:b',
    cluster: false,
  });
  expect(parseRedisUrl('redis://:only@db?cluster=true')).toMatchObject({ password: 'only', cluster: true });
});

test('a redis: URL may name several sentinels or servers of a cluster', () => {
  expect(parseRedisUrl('redis://us:p,@ss@one,[::2]:7000,three:1/2?sentinel=main')).toMatchObject({
    servers: [
      { host: 'one', port: 26_379 },
      { host: '::2', port: 7000 },
      { host: 'three', port: 1 },
    ],
    username: 'us',
    password: 'p,@ss',
    database: 2,
    sentinel: 'main',
  });
  expect(parseRedisUrl('redis://one,two:7000?cluster=true').servers).toEqual([
    { host: 'one', port: 6379 },
    { host: 'two', port: 7000 },
  ]);
  const METADATA_URL = 'redis://us:secret@one:26379,two:26379/1?sentinel=main';
  expect(parseConfig({ METADATA_URL }).METADATA_URL).toBe(METADATA_URL);
});

test.each([
  'redis://db/first',
  'redis://db?prefix=a%20b',
  'redis://secret@db/1?cluster=true',
  'redis://secret@one,two',
  'redis://secret@one,b ad?sentinel=main',
  'redis://secret@db?cluster=true&sentinel=main',
  'rediss://secret@db?sentinel=main',
])('%s is refused without being repeated', (url) => {
  expect(() => parseRedisUrl(url)).toThrow(RangeError);
  expect(() => parseRedisUrl(url)).not.toThrow(/secret|first|a b/);
});

test.each([
  ['s3://bucket', false],
  ['s3://bucket?endpoint=https://s3.example', false],
  ['s3://bucket?endpoint=http://localhost:7070', true],
  ['s3://bucket?endpoint=http://192.0.2.1:7070', true],
  ['s3://bucket?endpoint=http://[::1]:7070', true],
  ['s3://bucket?endpoint=http://s3:7070&path_style=true', true],
  ['s3://bucket?endpoint=http://localhost:7070&path_style=false', false],
])('%s has the bucket in the path: %p', (url, pathStyle) => {
  expect(parseS3Url(url)).toMatchObject({ bucket: 'bucket', prefix: '', region: 'us-east-1', pathStyle });
});

test('the prefix of an s3: URL is a folder, with or without slashes around it', () => {
  for (const path of ['/a/b%20c', '/a/b%20c/', '//a/b%20c//']) {
    expect(parseS3Url(`s3://bucket${path}?region=eu-central-1`)).toMatchObject({
      prefix: 'a/b c/',
      region: 'eu-central-1',
    });
  }
});

test('the settings accept the URLs of every adapter, and each URL has one adapter', () => {
  for (const scheme of RECORD_SCHEMES) {
    const { METADATA_URL } = parseConfig({ METADATA_URL: `${scheme}//host/0` });
    expect(recordsAdapter(METADATA_URL).schemes).toContain(scheme);
  }
  for (const scheme of FILE_SCHEMES) {
    const { BLOBS_URL } = parseConfig({ BLOBS_URL: `${scheme}//bucket/folder` });
    expect(filesAdapter(BLOBS_URL).schemes).toContain(scheme);
  }
});

test('an adapter with a store on this machine has its path, and is not shared', async () => {
  expect(recordsAdapter('sqlite:/data/picpool.db')).toMatchObject({ shared: false });
  expect(recordsAdapter('sqlite:/data/picpool.db').path('sqlite:/data/picpool.db')).toBe('/data/picpool.db');
  expect(recordsAdapter('sqlite::memory:').path('sqlite::memory:')).toBeNull();
  expect(filesAdapter('file:/data/images').path('file:/data/images')).toBe('/data/images');
  expect(filesAdapter('s3://bucket')).toMatchObject({ shared: true });
  expect(filesAdapter('s3://bucket').path('s3://bucket')).toBeNull();
});

test('a URL without an adapter is named by its scheme alone', () => {
  expect(() => recordsAdapter('mysql://root:secret@host')).toThrow('No adapter opens mysql: URLs.');
});

test('misspelt parameters and flags of a URL are refused, instead of opening something else', () => {
  for (const [parse, url, said] of [
    [parseRedisUrl, 'redis://db?prefx=two', 'prefx is not a parameter of a redis: URL'],
    [parseRedisUrl, 'redis://db?cluster=maybe', 'cluster in a URL must be true or false'],
    [parseS3Url, 's3://bucket?endpont=http://minio:9000', 'endpont is not a parameter of an s3: URL'],
    [parseS3Url, 's3://bucket?path_style=ture', 'path_style in a URL must be true or false'],
  ] as const) {
    expect(() => parse(url)).toThrow(said);
  }
});

test('a % that encodes nothing, and a comma, may stand in a password', () => {
  expect(parseRedisUrl('redis://:100%@db').password).toBe('100%');
  expect(parseRedisUrl('redis://:100%25%40%zz@db').password).toBe('100%@%zz');
  expect(parsePostgresUrl('postgres://u:a,b@h,i/db')).toMatchObject({ password: 'a,b', database: 'db' });
  for (const url of ['postgres://u:a,b@h/db', 'postgres://u:100%@h', 'redis://:p,w@one,two?sentinel=x']) {
    expect(parseConfig({ METADATA_URL: url }).METADATA_URL).toBe(url);
  }
});
