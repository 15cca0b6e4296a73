import { describe, expect, test } from 'bun:test';
import { createClients } from '../../src/http/client/clients.ts';
import { createProxyTrust } from '../../src/http/client/proxy-trust.ts';
import { createContexts } from '../../src/http/context.ts';
import { bearerOf } from '../../src/http/dialect.ts';

/** A proxy in front that is trusted, and a client that is not. */
const PROXY = '10.0.0.9';
const CLIENT = '198.51.100.7';

function contextsOf(options: { publicUrl?: string; adminToken?: string; trusted?: string[] } = {}) {
  const { publicUrl, adminToken, trusted = [PROXY] } = options;
  const clients = createClients({ trust: createProxyTrust(trusted), log: () => {}, now: Date.now });
  return createContexts({ clients, publicUrl, adminToken });
}

function contextOf(headers: Record<string, string>, peer = PROXY, options = {}) {
  const request = new Request('http://inside:3000/x', { headers });
  return contextsOf(options).open(request, request, () => peer);
}

describe('the origin that a client uses', () => {
  const cases: [string, Record<string, string>, string][] = [
    ['its own, without headers', {}, 'http://inside:3000'],
    [
      'that of the headers',
      { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'a.example' },
      'https://a.example',
    ],
    ['of the own scheme, if only the host is named', { 'x-forwarded-host': 'a.example' }, 'http://a.example'],
    ['of the own host, if only the scheme is named', { 'x-forwarded-proto': 'https' }, 'https://inside:3000'],
    [
      'what the nearest proxy has added',
      { 'x-forwarded-proto': 'http, https', 'x-forwarded-host': 'far.example , near.example' },
      'https://near.example',
    ],
    [
      'its own, if the headers are empty',
      { 'x-forwarded-proto': '', 'x-forwarded-host': ' ' },
      'http://inside:3000',
    ],
    ['of the own scheme, if another is named', { 'x-forwarded-proto': 'ftp' }, 'http://inside:3000'],
    ['of the own scheme, if a longer one is named', { 'x-forwarded-proto': 'httpss' }, 'http://inside:3000'],
    ...['a b', 'a/b', 'a?b', 'a#b', 'user@a', 'a\\b', 'a:99999', '[::1', 'a'.repeat(301)].map(
      (host): [string, Record<string, string>, string] => [
        `its own, if "${host}" is named as the host`,
        { 'x-forwarded-host': host },
        'http://inside:3000',
      ],
    ),
  ];
  test.each(cases)('is, behind a trusted proxy, %s', (_name, headers, origin) => {
    expect(contextOf(headers).reachedAt).toBe(origin);
    expect(contextOf(headers).origin).toBe(origin);
  });

  test('is what a stranger asked for, whatever its headers name', () => {
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'a.example' };
    expect(contextOf(headers, CLIENT).origin).toBe('http://inside:3000');
  });
});

describe('the id of a request', () => {
  const given = { 'x-request-id': 'from-the.proxy_1' };

  test('is taken from a trusted proxy, if it is safe in a log', () => {
    expect(contextOf(given).id).toBe('from-the.proxy_1');
    for (const bad of ['a b', '', 'x'.repeat(65)])
      expect(contextOf({ 'x-request-id': bad }).id).not.toBe(bad);
  });

  test('is generated for anyone else, and unique for each request', () => {
    expect(contextOf(given, CLIENT).id).not.toBe('from-the.proxy_1');
    expect(contextOf(given, PROXY, { trusted: [] }).id).not.toBe('from-the.proxy_1');
    const contexts = contextsOf();
    const request = new Request('http://inside/');
    const ids = Array.from({ length: 3 }, () => contexts.open(request, request, () => CLIENT).id);
    expect(new Set(ids).size).toBe(3);
  });
});

describe('the administrator', () => {
  const adminToken = 'an-administrator-knows-this';

  test('has the token, or a token of the same role', () => {
    const admin = contextOf({ authorization: `bearer ${adminToken}` }, CLIENT, { adminToken });
    const other = contextOf({ authorization: 'Bearer something-else' }, CLIENT, { adminToken });
    expect([admin.admin, other.admin]).toEqual([true, false]);
    other.holder = { id: 'a', name: 'a', role: 'admin' } as typeof other.holder;
    expect(other.admin).toBe(true);
  });

  test('does not exist if no token is set, which contexts show', () => {
    expect(contextOf({ authorization: 'Bearer undefined' }).admin).toBe(false);
    expect([contextsOf().adminIsSet, contextsOf({ adminToken }).adminIsSet]).toEqual([false, true]);
  });

  test('is recognised only by a header with exactly one token', () => {
    const headers = [null, 'Bearer a', 'Bearer', 'Bearer a b', 'Basic a'];
    expect(headers.map(bearerOf)).toEqual([null, 'a', null, null, null]);
  });
});

test('a request is direct if it names this machine, comes from it, and no public URL says otherwise', () => {
  const direct = (url: string, peer: string, publicUrl?: string) => {
    const request = new Request(url);
    const contexts = contextsOf({ trusted: [], ...(publicUrl && { publicUrl }) });
    return contexts.open(request, request, () => peer).direct;
  };
  for (const url of ['http://localhost:1/', 'http://127.0.0.1/', 'http://[::1]/']) {
    expect(direct(url, '127.0.0.1')).toBe(true);
    expect(direct(url, '127.0.0.1', 'http://localhost:1')).toBe(true);
    expect(direct(url, '127.0.0.1', 'https://img.example')).toBe(false);
    expect(direct(url, CLIENT)).toBe(false);
  }
  expect(direct('http://localhost.example/', '127.0.0.1')).toBe(false);
  expect(direct('http://img.example/', '127.0.0.1')).toBe(false);
});

test('a client counts as its network, or as its token', () => {
  const context = contextOf({}, '2001:db8:1:2:3:4:5:6');
  expect(context.payer).toBe('2001:db8:1:2::/64');
  context.holder = { id: 'a1', name: 'laptop', role: 'upload' } as typeof context.holder;
  expect(context.payer).toBe('token a1');
});
