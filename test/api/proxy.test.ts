import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { cutSent } from '../../src/errors.ts';
import { reportsOf } from '../../src/proxy/pool/history.ts';
import { createSourceReader } from '../../src/proxy/sources/read.ts';
import { json } from '../support/json.ts';
import { draft } from '../support/pool/pool.ts';
import { createPoolServer, type PoolServer } from '../support/pool/server.ts';
import { words } from '../support/words.ts';

const TOKEN = 'a-token-of-some-length';

interface Body {
  [name: string]: unknown;
  proxies: Record<string, unknown>[];
  query: Record<string, unknown>;
  details: { field: string }[];
}

async function* piecesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

let server: PoolServer;
let ids: number[];
beforeEach(async () => {
  server = await createPoolServer();
  const now = server.clock.now();
  const saved = await server.store.save([
    draft('http://192.0.2.1:8080', now, { country: 'DE', uptime: 0.9, responseMs: 120 }),
    draft('socks5://192.0.2.2:1080', now - 7_200_000, {
      country: 'US',
      uptime: 0.8,
      responseMs: 900,
      source: 'b',
      proof: 'echoed',
    }),
    draft('https://192.0.2.3:443', now, {
      proof: 'tls',
      country: 'DE',
      uptime: 0.7,
      anonymity: 'transparent',
      exitIp: '192.0.2.99',
    }),
    // By a clock that was ahead.
    draft('http://192.0.2.4:3128', now + 1e12, {
      status: 'dead',
      error: 'timeout',
      lastAlive: null,
      responseMs: null,
    }),
  ]);
  ids = saved.map(({ id }) => id);
});
afterEach(() => server.close());

describe('GET /api/v1/proxies', () => {
  test('lists the living, most dependable first, with the envelope of the interface', async () => {
    const body = await server.get<Body>('/api/v1/proxies');
    expect(body).toMatchObject({ success: true, total: 3, count: 3 });
    expect(body.query).toEqual({ protocol: null, country: null, status: 'alive', limit: 50 });
    expect(body.proxies[0]).toEqual({
      id: ids[0],
      ip: '192.0.2.1',
      port: 8080,
      protocol: 'http',
      country: 'DE',
      response_time: 120,
      last_checked: '2026-01-31 08:00:00',
      status: 'alive',
      source: 'a',
      anonymity: 'elite',
      exit_ip: null,
      proof: 'relayed',
      tampering: null,
      uptime: 0.916,
      score: 0.9,
      checks: 1,
      successes: 1,
      first_seen: '2026-01-31 08:00:00',
      last_alive: '2026-01-31 08:00:00',
      error: null,
      login: null,
      recent_checks: '',
    });
    expect(body.proxies.map(({ ip }) => ip)).toEqual(['192.0.2.1', '192.0.2.2', '192.0.2.3']);
  });

  test.each([
    ['protocol=SOCKS5', ['192.0.2.2']],
    ['country=de', ['192.0.2.1', '192.0.2.3']],
    ['exclude_country=de', ['192.0.2.2']],
    ['status=Dead', ['192.0.2.4']],
    ['anonymity=transparent', ['192.0.2.3']],
    ['source=b', ['192.0.2.2']],
    ['proof=relayed', ['192.0.2.1']],
    ['min_proof=relayed', ['192.0.2.1', '192.0.2.3']],
    ['min_proof=relayed&proof=echoed', []],
    ['max_latency_ms=110', ['192.0.2.3']],
    ['max_age=3600', ['192.0.2.1', '192.0.2.3']],
    ['max_age=3600&status=dead', []],
    ['min_uptime=0.75', ['192.0.2.1', '192.0.2.2']],
    ['min_score=0.75', ['192.0.2.1', '192.0.2.2']],
    ['protocol=http, SOCKS5', ['192.0.2.1', '192.0.2.2']],
    ['protocol=http&protocol=SOCKS5&protocol=', ['192.0.2.1', '192.0.2.2']],
    ['protocol=http&%70rotocol=socks5', ['192.0.2.1', '192.0.2.2']],
    ['country=de,us&exclude_country=fr,us', ['192.0.2.1', '192.0.2.3']],
    ['port=443,1080', ['192.0.2.2', '192.0.2.3']],
    ['tampering=none', []],
    ['unique=exit_ip&sort=response_time&limit=2', ['192.0.2.3', '192.0.2.1']],
    ['limit=1&offset=1', ['192.0.2.2']],
    ['sort=response_time', ['192.0.2.3', '192.0.2.1', '192.0.2.2']],
    ['protocol=&country=&limit=', ['192.0.2.1', '192.0.2.2', '192.0.2.3']],
    ['_=1700000000', ['192.0.2.1', '192.0.2.2', '192.0.2.3']],
  ])('filters by %s', async (query, expected) => {
    const body = await server.get<Body>(`/api/v1/proxies?${query}`);
    expect(body.proxies.map(({ ip }) => String(ip))).toEqual(expected);
  });

  test('echoes the filters as they took effect', async () => {
    const { query, count, total } = await server.get<Body>(
      '/api/v1/proxies?protocol=HTTP&country=de,uk&limit=9999&min_uptime=0.5',
    );
    expect(query).toEqual({
      protocol: 'http',
      country: 'DE,GB',
      status: 'alive',
      limit: 500,
      min_uptime: 0.5,
    });
    expect([count, total]).toEqual([1, 1]);
  });

  test.each(words`
    limit=0 limit=-1 limit=1.5 limit=many limit=1e3 offset=-1 protocol=ftp protocol=http,ftp
    country=DE,Germany port=0 port=80-90 unique=ip country=Germany status=unknown format=xml
    min_uptime=2 sort=id random=maybe
  `)('refuses %s', async (query) => {
    const answer = await server.send(`/api/v1/proxies?${query}`);
    expect(answer.status).toBe(400);
    const body = await json<Body>(answer);
    expect(body).toMatchObject({ success: false, code: 'invalid_parameter' });
    expect(body.details[0]?.field).toBe(query.split('=')[0] ?? '');
  });

  test('answers text as ip:port lines and standard as URLs', async () => {
    const text = await server.send('/api/v1/proxies?format=text&limit=2');
    expect(text.headers.get('content-type')).toStartWith('text/plain');
    expect(await text.text()).toBe('192.0.2.1:8080\n192.0.2.2:1080\n');
    const standard = await server.send('/api/v1/proxies?format=STANDARD&limit=2');
    expect(await standard.text()).toBe('http://192.0.2.1:8080\nsocks5://192.0.2.2:1080\n');
  });

  test('draws at random without being cached', async () => {
    const answer = await server.send('/api/v1/proxies?random=true&limit=2');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const body = await json<Body>(answer);
    expect(body).toMatchObject({ count: 2, total: 3 });
    expect(new Set(body.proxies.map(({ id }) => id)).size).toBe(2);
  });

  test('answers 304 until something changes', async () => {
    const first = await server.send('/api/v1/proxies');
    const headers = { 'if-none-match': first.headers.get('etag') ?? '' };
    expect((await server.send('/api/v1/proxies', { headers })).status).toBe(304);
    await server.store.save([draft('http://192.0.2.9:80', server.clock.now())]);
    expect((await server.send('/api/v1/proxies', { headers })).status).toBe(200);
  });

  test('answers HEAD with the headers of GET', async () => {
    const whole = await server.send('/api/v1/proxies');
    const head = await server.send('/api/v1/proxies', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    for (const name of ['content-type', 'etag']) expect(head.headers.get(name)).toBe(whole.headers.get(name));
    expect(head.headers.get('content-length')).toBe(`${(await whole.arrayBuffer()).byteLength}`);
    const headers = { 'if-none-match': head.headers.get('etag') ?? '' };
    const unchanged = await server.send('/api/v1/proxies', { method: 'HEAD', headers });
    expect([unchanged.status, unchanged.headers.get('content-length')]).toEqual([304, null]);
  });
});

describe('GET /api/export', () => {
  test('sends all the living as a download, one URL a line', async () => {
    const answer = await server.send('/api/export');
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="proxies.txt"');
    expect(answer.headers.get('content-type')).toStartWith('text/plain');
    expect(await answer.text()).toBe(
      'http://192.0.2.1:8080\nsocks5://192.0.2.2:1080\nhttps://192.0.2.3:443\n',
    );
  });

  test('filters, and leaves the protocol out with format=text', async () => {
    const answer = await server.send('/api/export?country=de&protocol=http&format=text');
    expect(await answer.text()).toBe('192.0.2.1:8080\n');
  });

  test('sorts, leaves out the first ones, and shuffles', async () => {
    const lines = async (query: string) =>
      (await (await server.send(`/api/export?${query}`)).text()).split('\n').slice(0, -1);
    const listed = await server.send('/api/v1/proxies?format=standard&sort=response_time');
    const fastest = (await listed.text()).split('\n').slice(0, -1);
    expect(await lines('sort=response_time')).toEqual(fastest);
    expect(await lines('sort=response_time&offset=1')).toEqual(fastest.slice(1));
    expect(await lines('offset=9')).toEqual([]);
    expect((await lines('random=true')).toSorted()).toEqual(fastest.toSorted());
    expect((await server.send('/api/export?sort=best')).status).toBe(400);
  });

  test('has no limit', async () => {
    const now = server.clock.now();
    const many = Array.from({ length: 3000 }, (_, index) =>
      draft(`http://198.51.${index >> 8}.${index & 255}:80`, now),
    );
    await server.store.save(many);
    const text = await (await server.send('/api/export')).text();
    expect(text.trim().split('\n').length).toBe(3003);
  });

  test('writes lines that clients take, each proxy once', async () => {
    await server.store.save([draft('https://192.0.2.1:8080', server.clock.now())]);
    const lines = async (query: string) => (await server.send(`/api/export?${query}`)).text();
    const http = 'http://192.0.2.1:8080\n';
    expect(await lines('format=url')).toBe(`${http}socks5://192.0.2.2:1080\nhttp://192.0.2.3:443\n`);
    expect(await lines('format=url&protocol=socks5&remote_dns=true')).toBe('socks5h://192.0.2.2:1080\n');
    const listed = await server.send('/api/v1/proxies?format=url&protocol=https,http&remote_dns=yes');
    expect(await listed.text()).toBe(`${http}http://192.0.2.3:443\n`);
  });

  test('writes whole records as CSV and as JSON, up to a limit', async () => {
    const csv = await server.send('/api/export?format=csv&limit=2');
    expect(csv.headers.get('content-disposition')).toBe('attachment; filename="proxies.csv"');
    const [header, first, ...others] = (await csv.text()).trim().split('\n');
    expect(header).toStartWith('protocol,ip,port,country,response_time');
    expect(first).toStartWith('http,192.0.2.1,8080,DE,120,elite');
    expect(others.length).toBe(1);
    const answer = await server.send('/api/export?format=json&sort=response_time');
    expect(answer.headers.get('content-type')).toBe('application/json');
    const records = (await answer.json()) as { ip: string }[];
    expect(records.map(({ ip }) => ip)).toEqual(['192.0.2.3', '192.0.2.1', '192.0.2.2']);
    expect(records[0]).toEqual(
      (await server.get<Body>('/api/v1/proxies?sort=response_time')).proxies[0] as never,
    );
    expect(await (await server.send('/api/export?format=json&offset=99')).json()).toEqual([]);
  });

  test('has one proxy of each exit address where it is asked to', async () => {
    const exit = { exitIp: '203.0.113.5', proof: 'tls', uptime: 0.1 } as const;
    await server.store.save([
      draft('http://198.51.100.1:80', server.clock.now(), exit),
      draft('http://198.51.100.2:80', server.clock.now(), { ...exit, uptime: 0.2 }),
    ]);
    const text = await (await server.send('/api/export?format=text&unique=exit_ip')).text();
    expect([text.includes('198.51.100.2:80'), text.includes('198.51.100.1:80')]).toEqual([true, false]);
  });

  test.each([
    '/api/export?protcol=http',
    '/api/v1/proxies?protcol=http',
    '/api/sources?ofset=1',
    '/api/v1/proxies?proto=http',
    '/api/sources?OFFSET=1',
  ])('a misspelt or shortened name is refused with what was meant: %s', async (path) => {
    const answer = await server.send(path);
    expect(answer.status).toBe(400);
    expect((await json<Body>(answer)).error).toMatch(
      /^There is no parameter (protcol|ofset|proto|OFFSET); did you mean/,
    );
  });

  test.each(['exit_ip=192.0.2.1', 'asn=64496', 'continent=EU', `${'n'.repeat(15_000)}=2`])(
    'an unknown filter is refused by name, with those that there are: %s',
    async (query) => {
      for (const path of ['/api/export', '/api/v1/proxies']) {
        const answer = await server.send(`${path}?protocol=http&${query}`);
        expect(answer.status).toBe(400);
        const { error } = await json<Body>(answer);
        const name = cutSent(query.split('=')[0] ?? '');
        expect(error).toStartWith(`There is no parameter ${name}; there are protocol, country, `);
      }
    },
  );

  test('every parameter of the interface is known, and one that avoids caches is no filter', async () => {
    const all = 'protocol=http&country=DE&status=alive&limit=5&format=json&_=1700000000';
    expect((await server.send(`/api/v1/proxies?${all}`)).status).toBe(200);
    expect((await server.send('/api/export?protocol=http&country=DE&_=1')).status).toBe(200);
  });

  test('what a parameter must be is said in words', async () => {
    const said = async (query: string) => (await server.get<Body>(`/api/v1/proxies?${query}`)).error;
    expect(await said('country=Germany')).toBe('country takes two-letter codes: DE instead of “germany”.');
    expect(await said('country=de,EN')).toBe('country must name countries, and EN is the code of none.');
    expect(await said('country=UK,ZZ')).toBeUndefined();
    expect(await said('port=x')).toBe('port must be port numbers, separated by commas, not "x".');
    expect(await said('port=1,65536')).toContain('not "1,65536"');
    expect(await said('port=9,1023,59999,64000,65499,65529,65535')).toBeUndefined();
  });
});

describe('statistics, status and filters', () => {
  test('GET /api/stats counts', async () => {
    expect(await json(await server.send('/api/stats'))).toEqual({
      alive: 3,
      total: 4,
      avg_response_time: 373.33,
      countries: 2,
    });
  });

  test('GET /api/status shows no last refresh before the first, then its minute', async () => {
    expect(await server.get<Body>('/api/status')).toMatchObject({
      status: 'running',
      last_refresh: '',
      judge: 'up',
      judges: { http: 'up', https: 'up' },
      witnesses: 'none',
    });
    await server.refresh();
    const { last_refresh, refresh } = await server.get<Body>('/api/status');
    expect(last_refresh).toBe('2026-01-31 08:00');
    expect(refresh).toMatchObject({ state: 'done', stage: 'cleanup', checked: 5 });
    expect(refresh).not.toHaveProperty('sources');
  });

  test('GET /api/filters lists the choices', async () => {
    expect(await json(await server.send('/api/filters'))).toEqual({
      protocols: ['http', 'https', 'socks4', 'socks5'],
      countries: ['DE', 'US', 'ZZ'],
      statuses: ['alive', 'dead'],
    });
  });
});

describe('GET /api/proxy/<id>', () => {
  test('shows one proxy, dead ones too', async () => {
    expect(await server.get<Body>(`/api/proxy/${ids[3]}`)).toMatchObject({
      id: ids[3],
      ip: '192.0.2.4',
      status: 'dead',
      error: 'timeout',
      response_time: 0,
      last_alive: null,
    });
  });

  test.each([
    ['an unknown id', '/api/proxy/999999', 404, 'not_found'],
    ['an id that is no number', '/api/proxy/abc', 400, 'invalid_parameter'],
    ['an id below 1', '/api/proxy/0', 400, 'invalid_parameter'],
    ['a huge id', '/api/proxy/99999999999999999999', 400, 'invalid_parameter'],
  ])('refuses %s', async (_, path, status, code) => {
    const answer = await server.send(path);
    expect(answer.status).toBe(status);
    expect((await json(answer)).code).toBe(code);
  });
});

test('what reads all matches counts one read more for each 500 of them, unless the answer is kept', async () => {
  await server.close();
  const counted: unknown[] = [];
  server = await createPoolServer({ countReads: async (...taken) => void counted.push(taken) });
  const now = server.clock.now();
  const countryOf = (place: number) => (place < 499 ? 'DE' : 'US');
  await server.store.save(
    Array.from({ length: 1000 }, (_, place) =>
      draft(`http://192.0.2.${place % 250}:${80 + place}`, now, { country: countryOf(place) }),
    ),
  );
  const readsOf = async (path: string) => {
    counted.length = 0;
    await (await server.send(path)).text();
    return counted;
  };
  const all = [['198.51.100.7', 2]];
  for (const path of ['/api/v1/proxies', '/api/v1/proxies?target=a.example', '/api/filters'])
    expect(await readsOf(path)).toEqual([]);
  expect(await readsOf('/api/v1/proxies?unique=exit_ip')).toEqual(all);
  expect(await readsOf('/api/v1/proxies?unique=exit_ip')).toEqual([]);
  expect(await readsOf('/api/v1/proxies?target=a.example&offset=2000')).toEqual(all);
  expect(await readsOf('/api/export')).toEqual(all);
  expect(await readsOf('/api/export?country=US')).toEqual([['198.51.100.7', 1]]);
  expect(await readsOf('/api/export?country=DE')).toEqual([]);
});

test('four exports of one client are on their way at once', async () => {
  const load = (from: string) => server.send('/api/export', { from });
  const four = await Promise.all([1, 2, 3, 4].map(() => load('198.51.100.1')));
  expect(four.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect((await load('198.51.100.1')).status).toBe(429);
  expect((await load('198.51.100.2')).status).toBe(200);
  await four[0]?.text();
  await four[1]?.body?.cancel();
  expect([(await load('198.51.100.1')).status, (await load('198.51.100.1')).status]).toEqual([200, 200]);
});

describe('POST /api/proxy/<id>/test', () => {
  test('answers at once, and the result shows on the proxy', async () => {
    server.network.working.add('http://192.0.2.4:3128');
    const answer = await server.post(`/api/proxy/${ids[3]}/test`);
    expect(answer.status).toBe(202);
    expect(answer.headers.get('location')).toBe(`/api/proxy/${ids[3]}`);
    expect(await json(answer)).toMatchObject({ success: true, id: ids[3] });
    await server.clock.advance(0);
    expect(await server.get<Body>(`/api/proxy/${ids[3]}`)).toMatchObject({
      status: 'alive',
      country: 'DE',
      error: null,
    });
  });

  test('tests a proxy once at a time', async () => {
    server.network.before = () => server.clock.sleep(1000);
    await server.post(`/api/proxy/${ids[0]}/test`);
    await server.post(`/api/proxy/${ids[0]}/test`);
    await server.clock.advance(2000);
    expect(server.network.asked).toEqual(['http://192.0.2.1:8080']);
  });

  test('knows unknown ids, and that no judge responds', async () => {
    server.network.judge = 'down';
    expect((await server.post(`/api/proxy/${ids[0]}/test`)).status).toBe(503);
    expect((await server.post('/api/proxy/999999/test')).status).toBe(404);
    expect((await server.post('/api/proxy/x/test')).status).toBe(400);
  });
});

describe('POST /api/test_proxy_quick', () => {
  const target = { ip: '192.0.2.4', port: 3128 };

  test('says that a proxy works', async () => {
    server.network.working.add('http://192.0.2.4:3128');
    const answer = await server.post('/api/test_proxy_quick', target);
    expect(answer.status).toBe(200);
    expect(await json(answer)).toEqual({
      success: true,
      alive: true,
      status: 'alive',
      response_time: 30,
      connect_time: 10,
      first_byte_time: 20,
      tampering: [],
      proof: 'tls',
      country: 'DE',
      anonymity: 'elite',
      exit_ip: '192.0.2.200',
      error: null,
    });
  });

  test('says to an administrator at once why one does not', async () => {
    server = await createPoolServer({ adminToken: TOKEN });
    const authorization = `Bearer ${TOKEN}`;
    const body = { ...target, protocol: 'SOCKS4' };
    const answer = await server.post('/api/test_proxy_quick', body, { authorization });
    expect(await json(answer)).toMatchObject({ alive: false, status: 'dead', error: 'timeout' });
    expect(server.network.asked).toEqual(['socks4://192.0.2.4:3128']);
  });

  test('without proxy_id leaves the stored status alone', async () => {
    server.network.working.add('http://192.0.2.4:3128');
    await server.post('/api/test_proxy_quick', { ...target, proxy_id: null });
    expect(await server.get<Body>(`/api/proxy/${ids[3]}`)).toMatchObject({ status: 'dead' });
  });

  test('with proxy_id sets the stored status both ways, and says why one does not work', async () => {
    const test = () => server.post('/api/test_proxy_quick', { ...target, proxy_id: ids[3] });
    server.network.working.add('http://192.0.2.4:3128');
    expect((await test()).status).toBe(200);
    expect(await server.get<Body>(`/api/proxy/${ids[3]}`)).toMatchObject({
      status: 'alive',
      exit_ip: '192.0.2.200',
    });
    server.network.working.clear();
    expect(await json(await test())).toMatchObject({ alive: false, status: 'dead', error: 'timeout' });
    expect(await server.get<Body>(`/api/proxy/${ids[3]}`)).toMatchObject({
      status: 'dead',
      error: 'timeout',
    });
  });

  test.each([
    ['another address', { ip: '192.0.2.5', port: 3128 }],
    ['another port', { ip: '192.0.2.4', port: 3129 }],
    ['another protocol', { ip: '192.0.2.4', port: 3128, protocol: 'socks5' }],
  ])('refuses a proxy_id with %s', async (_, body) => {
    const answer = await server.post('/api/test_proxy_quick', { ...body, proxy_id: ids[3] });
    expect([answer.status, (await json(answer)).code]).toEqual([409, 'conflict']);
    expect(server.network.asked).toEqual([]);
  });

  test('refuses an unknown proxy_id', async () => {
    expect((await server.post('/api/test_proxy_quick', { ...target, proxy_id: 999_999 })).status).toBe(404);
  });

  test('answers 503 while no judge answers, and changes nothing', async () => {
    server.network.judge = 'down';
    const answer = await server.post('/api/test_proxy_quick', {
      ip: '192.0.2.1',
      port: 8080,
      proxy_id: ids[0],
    });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '30']);
    expect(await server.get<Body>(`/api/proxy/${ids[0]}`)).toMatchObject({ status: 'alive', checks: 1 });
  });

  test('refuses an address that is not dialled', async () => {
    server.network.refuses = () => true;
    const answer = await server.post('/api/test_proxy_quick', { ip: '127.0.0.1', port: 80 });
    expect(answer.status).toBe(400);
    expect(await json<Body>(answer)).toMatchObject({ code: 'invalid_parameter', details: [{ field: 'ip' }] });
  });

  test.each([
    ['no body', undefined],
    ['a list', []],
    ['no port', { ip: '192.0.2.4' }],
    ['no ip', { port: 80 }],
    ['a port of 0', { ip: '192.0.2.4', port: 0 }],
    ['a port of 65536', { ip: '192.0.2.4', port: 65_536 }],
    ['a port in words', { ip: '192.0.2.4', port: 'http' }],
    ['an unknown protocol', { ...target, protocol: 'ftp' }],
    ['a name in place of an address', { ip: 'localhost', port: 80 }],
    ['an address in decimal', { ip: '2130706433', port: 80 }],
    ['an id in words', { ...target, proxy_id: 'x' }],
    ['broken JSON', '{'],
  ])('refuses %s', async (_, body) => {
    const answer = await server.post('/api/test_proxy_quick', body);
    expect(answer.status).toBe(400);
    expect((await json(answer)).success).toBe(false);
    expect(server.network.asked).toEqual([]);
  });
});

describe('POST /api/proxy/<id>/report', () => {
  test('moves the next check forward and leaves the status alone', async () => {
    const later = server.clock.now() + 3_600_000;
    await server.store.save([{ ...draft('http://192.0.2.1:8080', server.clock.now()), nextCheck: later }]);
    const answer = await server.post(`/api/proxy/${ids[0]}/report`, {
      ok: false,
      target: 'https://example.com',
    });
    expect(await json(answer)).toEqual({ success: true, id: ids[0], next_check: '2026-01-31 08:00:30' });
    expect(await server.store.get(ids[0] ?? 0)).toMatchObject({
      status: 'alive',
      nextCheck: server.clock.now() + 30_000,
    });
  });

  test('that it worked changes no check', async () => {
    const before = await server.store.get(ids[0] ?? 0);
    expect((await server.post(`/api/proxy/${ids[0]}/report`, { ok: true })).status).toBe(200);
    expect(await server.store.get(ids[0] ?? 0)).toEqual({ ...before, reports: expect.any(String) } as never);
  });

  test('is kept with the host that was wanted and what went wrong, the last 20 of each proxy', async () => {
    const report = { ok: false, target: 'https://shop.example/cart?id=7', error: 'x'.repeat(2000) };
    for (let n = 0; n < 25; n++) await server.post(`/api/proxy/${ids[0]}/report`, report);
    await server.post(`/api/proxy/${ids[0]}/report`, { ok: true, target: 'mail.example:993' });
    const kept = reportsOf((await server.store.get(ids[0] ?? 0)) ?? { reports: null });
    expect(kept.length).toBe(20);
    const at = server.clock.now();
    expect(kept.at(-2)).toEqual({ at, ok: false, target: 'shop.example', error: 'x'.repeat(200) });
    expect(kept.at(-1)).toEqual({ at, ok: true, target: 'mail.example', error: null });
    await server.refresh();
    expect(reportsOf((await server.store.get(ids[0] ?? 0)) ?? { reports: null }).length).toBe(20);
  });

  test('is shown to the administrator alone, the newest first', async () => {
    await server.close();
    server = await createPoolServer({ adminToken: TOKEN });
    const [{ id } = { id: 0 }] = await server.store.save([
      draft('http://192.0.2.1:8080', server.clock.now()),
    ]);
    await server.post(`/api/proxy/${id}/report`, { ok: false, target: 'shop.example', error: 'timeout' });
    await server.post(`/api/proxy/${id}/report`, { ok: true });
    const at = '2026-01-31 08:00:00';
    expect(
      await json<Body>(
        await server.send(`/api/proxy/${id}`, { headers: { authorization: `Bearer ${TOKEN}` } }),
      ),
    ).toMatchObject({
      reports: [
        { at, ok: true, target: null, error: null },
        { at, ok: false, target: 'shop.example', error: 'timeout' },
      ],
    });
    expect(await server.get<Body>(`/api/proxy/${id}`)).not.toHaveProperty('reports');
  });

  test('needs ok, and a known id', async () => {
    expect((await server.post(`/api/proxy/${ids[0]}/report`, {})).status).toBe(400);
    expect((await server.post('/api/proxy/999999/report', { ok: false })).status).toBe(404);
  });
});

describe('refreshes', () => {
  test('POST /api/refresh starts one and answers 202 with it, GET shows it', async () => {
    const answer = await server.post('/api/refresh');
    expect(answer.status).toBe(202);
    const { job } = await json<{ job: { id: string } }>(answer);
    expect(job).toMatchObject({ state: 'running', stage: 'fetch', started_at: '2026-01-31 08:00:00' });
    await server.ended();
    expect(await server.get<Body>('/api/refresh')).toMatchObject({
      success: true,
      job: { id: job.id, state: 'done' },
    });
  });

  test('of strangers answer the one that went well less than ten minutes ago, and failed ones do not count', async () => {
    const ask = async (headers?: Record<string, string>) => {
      const answer = await server.post('/api/refresh', undefined, headers);
      const { job } = await json<{ job: { id: string; state: string } }>(answer);
      return { status: answer.status, ...job };
    };
    server.network.judge = 'down';
    const failed = await ask();
    await server.ended();
    server.network.judge = 'up';
    const first = await ask();
    expect([first.status, first.id === failed.id]).toEqual([202, false]);
    await server.ended();
    await server.clock.advance(9 * 60_000);
    expect(await ask()).toMatchObject({ status: 200, id: first.id, state: 'done' });
    await server.clock.advance(60_000);
    const second = await ask();
    expect([second.status, second.id === first.id]).toEqual([202, false]);
    await server.ended();
  });

  test('have failed if no list could be read, and may be repeated at once; an unchanged list was read', async () => {
    await server.close();
    let status = 200;
    const readSource = createSourceReader({
      allowPrivate: true,
      fetch: async (url) => ({
        url,
        status,
        headers: { etag: '"v1"', 'content-length': '13' },
        body: piecesOf(status === 200 ? '192.0.2.1:80\n' : ''),
        discard() {},
      }),
    });
    server = await createPoolServer({ pool: { readSource } });
    const ask = async () => {
      const { status: answered } = await server.post('/api/refresh');
      const { state, error, retryAt } = await server.ended();
      return [answered, state, error, retryAt !== null];
    };
    expect(await ask()).toEqual([202, 'done', null, false]);
    await server.clock.advance(11 * 60_000);
    status = 500;
    expect(await ask()).toEqual([202, 'failed', 'lists_failing', true]);
    expect(await server.get<Body>('/api/status')).toMatchObject({ condition: 'lists_failing' });
    status = 304;
    expect(await ask()).toEqual([202, 'done', null, false]);
    expect(await ask()).toEqual([200, 'done', null, false]);
  });

  test('need the token where one is set, and begin again whenever it is brought', async () => {
    await server.close();
    server = await createPoolServer({ adminToken: TOKEN });
    expect((await server.post('/api/refresh')).status).toBe(401);
    expect((await server.post('/api/refresh', undefined, { authorization: 'Bearer wrong' })).status).toBe(
      401,
    );
    for (let turn = 0; turn < 2; turn++) {
      const headers = { authorization: `Bearer ${TOKEN}` };
      expect((await server.post('/api/refresh', undefined, headers)).status).toBe(202);
      await server.ended();
    }
  });

  test('are told on at most twenty connections to one client', async () => {
    const listen = (from: string) => server.send('/api/refresh/events', { from });
    const streams = await Promise.all(Array.from({ length: 20 }, () => listen('198.51.100.1')));
    expect(streams.every(({ status }) => status === 200)).toBe(true);
    expect((await listen('198.51.100.1')).status).toBe(429);
    const other = await listen('198.51.100.2');
    expect(other.status).toBe(200);
    await streams[0]?.body?.cancel();
    streams.push(other, await listen('198.51.100.1'));
    expect(streams.at(-1)?.status).toBe(200);
    await Promise.all(streams.slice(1).map((stream) => stream.body?.cancel()));
  });

  test('can be followed as server-sent events', async () => {
    const answer = await server.send('/api/refresh/events');
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    const reader = answer.body?.getReader();
    const states: string[] = [];
    const next = async () => {
      const { value } = (await reader?.read()) ?? {};
      const data = /event: progress\ndata: (.*)\n\n$/.exec(new TextDecoder().decode(value))?.[1];
      states.push(JSON.parse(data ?? '{}').state);
    };
    await next();
    const following = next();
    await server.post('/api/refresh');
    await following;
    const last = next();
    await server.ended();
    await last;
    expect(states).toEqual(['idle', 'running', 'done']);
    await reader?.cancel();
  });

  test('events end when the service stops', async () => {
    const reader = (await server.send('/api/refresh/events')).body?.getReader();
    await reader?.read();
    const end = reader?.read();
    await server.service.stop();
    expect((await end)?.done).toBe(true);
  });
});

describe('lists', () => {
  const list = { name: 'a', protocol: null, last_error: null, paused_until: null };

  test('are shown in pages', async () => {
    await server.refresh();
    expect(await server.get<Body>('/api/sources')).toMatchObject({
      success: true,
      total: 1,
      count: 1,
      sources: [{ ...list, found: 1, fresh: 1, checked: 1, alive: 0, last_read: '2026-01-31 08:00:00' }],
    });
    expect(await server.get<Body>('/api/sources?offset=1')).toMatchObject({
      total: 1,
      count: 0,
      sources: [],
    });
    expect((await server.send('/api/sources?limit=0')).status).toBe(400);
  });

  test('that are paused are read by a refresh that somebody asks for', async () => {
    const pausedUntil = server.clock.now() + 7_200_000;
    const health = { name: 'a', found: 0, fresh: 0, alive: 0, checked: 0, yield: null, barren: 0 };
    const paused = { ...health, failures: 3, lastError: 'answered 404', lastRead: 0, skipUntil: pausedUntil };
    await server.state.set('proxy:sources', JSON.stringify([paused]));
    expect(await server.get<Body>('/api/sources')).toMatchObject({
      sources: [{ failures: 3, last_error: 'answered 404', paused_until: '2026-01-31 10:00:00' }],
    });
    expect((await server.refresh({ all: false })).sources).toMatchObject([{ state: 'paused' }]);
    await server.post('/api/refresh');
    expect((await server.ended()).sources).toMatchObject([{ state: 'done', found: 1 }]);
    expect(await server.get<Body>('/api/sources')).toMatchObject({ sources: [{ paused_until: null }] });
  });
});

test('GET /api/judge shows the caller, signed', async () => {
  const answer = await server.send('/api/judge?token=abc', { headers: { 'x-probe': '1' } });
  expect(answer.headers.get('cache-control')).toBe('no-store');
  const body = await json(answer);
  expect(body).toMatchObject({ token: 'abc', address: '198.51.100.7', headers: { 'x-probe': '1' } });
  expect(body.proof).toBeString();
});
