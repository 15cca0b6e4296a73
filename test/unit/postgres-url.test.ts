import { expect, test } from 'bun:test';
import { parsePostgresUrl } from '../../adapters/postgres/url.ts';

test('a URL names server, user, database and schema, with the usual defaults', () => {
  expect(
    parsePostgresUrl('postgres://me:p%40ss@db.example:6432/pics?schema=mine&connections=4&prepare=no'),
  ).toEqual({
    servers: [{ host: 'db.example', port: 6432 }],
    user: 'me',
    password: 'p@ss',
    database: 'pics',
    schema: 'mine',
    tls: false,
    connections: 4,
    prepare: false,
  });
  expect(parsePostgresUrl('postgresql://db')).toMatchObject({
    servers: [{ host: 'db', port: 5432 }],
    user: 'postgres',
    database: 'postgres',
    schema: 'picpool',
  });
});

test('several hosts, IPv4 and IPv6 addresses and the folder of a socket are accepted', () => {
  const servers = (url: string) => parsePostgresUrl(url).servers.map(({ host, port }) => `${host} ${port}`);
  expect(servers('postgres://a:1,b,[::1]:3/x')).toEqual(['a 1', 'b 5432', '::1 3']);
  expect(servers('postgres://me@/x?host=/run/postgresql')).toEqual(['/run/postgresql 5432']);
  expect(servers('postgres://')).toEqual(['127.0.0.1 5432']);
});

test('TLS is verified in every mode, and modes that could skip it silently are refused', () => {
  for (const mode of ['require', 'verify-ca', 'verify-full']) {
    expect(parsePostgresUrl(`postgres://db?sslmode=${mode}`).tls).toBe(true);
  }
  for (const mode of ['prefer', 'allow', 'no-verify']) {
    expect(() => parsePostgresUrl(`postgres://db?sslmode=${mode}`)).toThrow('sslmode');
  }
});

test('errors do not include the password', () => {
  const wrong = [
    'postgres://me:secret@db?shcema=x',
    'postgres://me:secret@db?schema=Bad-Name',
    'postgres://me:secret@db?connections=0',
    'postgres://me:secret@db?target_session_attrs=standby',
    'postgres://me:secret@a b/x',
  ];
  for (const url of wrong) {
    let message = '';
    try {
      parsePostgresUrl(url);
    } catch (error) {
      message = String(error);
    }
    expect(message, url).toContain('postgres: URL');
    expect(message).not.toContain('secret');
  }
});
