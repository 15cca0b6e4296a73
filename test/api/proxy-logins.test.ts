import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { absent } from '../support/absent.ts';
import { ADMIN } from '../support/admin.ts';
import { createCertificates } from '../support/certificates.ts';
import { startJudge } from '../support/farm/judge-server.ts';
import { startMicrosocks, startTinyproxy } from '../support/farm/real-proxies.ts';
import { json } from '../support/json.ts';
import { cli, cliCommand, cliEnvironment } from '../support/servers/cli.ts';
import { type RunningServer, runServer } from '../support/servers/running-server.ts';

const TINY = { user: 'operator', password: 'Sesame-open-1' };
const MICRO = { user: 'us er', password: 'p@ss:wörd/2' };
const STRANGERS = 'leaked:by-somebody';

const inUrl = ({ user, password }: typeof TINY) =>
  `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
/** Each form in which a login could be read. */
const SECRETS = [TINY, MICRO].flatMap((login) => {
  const whole = `${login.user}:${login.password}`;
  const forms = [
    login.password,
    encodeURIComponent(login.password),
    JSON.stringify(login.password).slice(1, -1),
  ];
  return [...forms, Buffer.from(whole).toString('base64')];
});
const secretsIn = (text: string) => SECRETS.filter((secret) => text.includes(secret));

interface Proxy {
  id: number;
  protocol: string;
  ip: string;
  port: number;
  login: string | null;
}

describe.skipIf(absent('tinyproxy', 'microsocks', 'openssl'))('proxies that ask for a login', () => {
  let server: RunningServer;
  let tiny: string;
  let micro: string;
  let world: Record<string, string>;
  const posted: string[] = [];
  const events: string[] = [];
  const ends: (() => unknown)[] = [];

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'picpool-logins-'));
    ends.push(() => rm(folder, { recursive: true }));
    const certificates = await createCertificates();
    const judges = await Promise.all([startJudge(), startJudge({ tls: certificates.good })]);
    const proxies = await Promise.all([
      startTinyproxy('127.9.1.1', { login: TINY }),
      startMicrosocks('127.9.1.2', MICRO),
    ]);
    tiny = `127.9.1.1:${proxies[0].port}`;
    micro = `127.9.1.2:${proxies[1].port}`;
    const others = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      async fetch(request) {
        if (request.method === 'GET')
          return new Response(`http://${STRANGERS}@127.9.1.3:8080\n127.9.1.4:8080\n`);
        posted.push(await request.text());
        return new Response();
      },
    });
    ends.push(...[...judges, ...proxies].map(({ stop }) => stop), () => others.stop(true));
    const own = join(folder, 'own.txt');
    await writeFile(own, `http://${inUrl(TINY)}@${tiny}\nsocks5://${inUrl(MICRO)}@${micro}\n`);
    const sources = [
      { name: 'own', url: `file:${own}` },
      { name: 'public', url: `http://127.0.0.1:${others.port}/list`, protocol: 'http' },
    ];
    await writeFile(join(folder, 'sources.json'), JSON.stringify(sources));
    await writeFile(join(folder, 'ca.pem'), certificates.ca);
    world = {
      PROXY_ALLOW_PRIVATE: 'true',
      PROXY_JUDGES: judges.map(({ url }) => url).join(),
      PROXY_JUDGE_CA: join(folder, 'ca.pem'),
      PROXY_WITNESSES: 'none',
      PROXY_CHECK_TIMEOUT: '8s',
    };
    server = await runServer({
      ...world,
      SERVICES: 'proxy',
      PROXY_SOURCES: join(folder, 'sources.json'),
      ADMIN_TOKEN: ADMIN.authorization.replace('Bearer ', ''),
      WEBHOOK_URLS: `http://127.0.0.1:${others.port}/hook`,
      WEBHOOK_SECRET: 'a-secret-of-sixteen-letters',
      LOG_LEVEL: 'debug',
      RATE_LIMITS: 'off',
    });
    await refreshed();
  });

  afterAll(async () => {
    await server?.stop();
    await Promise.all(ends.map((end) => end()));
  });

  /** Refreshes, and listens until that has ended. */
  async function refreshed(): Promise<void> {
    const stream = await server.send('/api/refresh/events');
    await server.send('/api/refresh', { method: 'POST', headers: ADMIN });
    const decoder = new TextDecoder();
    let text = '';
    for await (const piece of stream.body ?? []) {
      text += decoder.decode(piece, { stream: true });
      if (/"state":"(done|failed)","stage":"cleanup"/.test(text)) break;
    }
    events.push(text);
  }

  const listed = async (query = '') =>
    (await json<{ proxies: Proxy[] }>(await server.send(`/api/v1/proxies?${query}`))).proxies;
  const textOf = async (path: string, headers = {}) => (await server.send(path, { headers })).text();

  test('they are listed once they have worked with it, and masked', async () => {
    const found = (await listed()).map(({ protocol, ip, login }) => `${protocol} ${ip} ${login}`);
    expect(found.toSorted()).toEqual(['http 127.9.1.1 ***', 'https 127.9.1.1 ***', 'socks5 127.9.1.2 ***']);
    expect(await listed('login=none')).toEqual([]);
    expect(await listed('login=needed')).toHaveLength(3);
  });

  test('a login that a public list names is not taken', async () => {
    expect((await listed('status=dead')).map(({ ip }) => ip)).toEqual(['127.9.1.4']);
  });

  test('lines leave them out, but for the administrator', async () => {
    const paths = ['standard', 'text', 'url'].flatMap((format) => [
      `/api/v1/proxies?format=${format}`,
      `/api/export?format=${format}`,
      `/api/export?format=${format}&sort=last_checked`,
      `/api/export?format=${format}&unique=exit_ip`,
    ]);
    for (const path of paths) expect(await textOf(path)).toBe('');
    const lines = async (path: string) => (await textOf(path, ADMIN)).trim().split('\n').toSorted();
    for (const path of ['/api/v1/proxies?', '/api/export?', '/api/export?sort=last_checked&']) {
      expect(await lines(`${path}format=url`)).toEqual([
        `http://${inUrl(TINY)}@${tiny}`,
        `socks5://${inUrl(MICRO)}@${micro}`,
      ]);
      expect(await lines(`${path}format=standard`)).toEqual([
        `http://${inUrl(TINY)}@${tiny}`,
        `https://${inUrl(TINY)}@${tiny}`,
        `socks5://${inUrl(MICRO)}@${micro}`,
      ]);
      expect(await lines(`${path}format=text&protocol=socks5`)).toEqual([
        `${micro}:${MICRO.user}:${MICRO.password}`,
      ]);
    }
    const whole = JSON.parse(await textOf('/api/export?format=json', ADMIN)) as Proxy[];
    expect(whole.map(({ login }) => login)).toContain(`${MICRO.user}:${MICRO.password}`);
    expect(await textOf('/api/export?format=csv', ADMIN)).toContain(`${TINY.user}:${TINY.password}`);
  });

  test('what the administrator was told is kept for nobody else', async () => {
    const path = '/api/v1/proxies?format=url&limit=7';
    const answer = await server.send(path, { headers: ADMIN });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(secretsIn(await answer.text())).not.toEqual([]);
    expect(await textOf(path)).toBe('');
    expect(secretsIn(await textOf(path, ADMIN))).not.toEqual([]);
  });

  test('a client that asks for their lines without being the administrator is told why it gets none', async () => {
    for (const path of ['/api/v1/proxies?format=url&login=needed', '/api/export?login=needed']) {
      expect((await server.send(path)).status).toBe(401);
      expect((await server.send(path, { headers: { authorization: 'Bearer something-else' } })).status).toBe(
        401,
      );
    }
  });

  test('a test uses the login of the record that it names, and no other', async () => {
    const [proxy] = await listed('protocol=socks5');
    if (!proxy) throw new Error('is not listed');
    const { ip, port, protocol, id } = proxy;
    const quick = async (body: object) =>
      json<object>(await server.post('/api/test_proxy_quick', body, ADMIN));
    expect(await quick({ ip, port, protocol, proxy_id: id })).toMatchObject({ alive: true });
    expect(await quick({ ip, port, protocol })).toMatchObject({ alive: false, error: 'auth_required' });
  });

  test('no answer, page, event, log line, metric or webhook holds a login', async () => {
    const { paths } = await json<{ paths: Record<string, object> }>(await server.send('/openapi.json'));
    const ids = (await listed()).map(({ id }) => id);
    const reading = Object.entries(paths).filter(
      ([path, methods]) => 'get' in methods && !path.endsWith('/events'),
    );
    const asked = reading.flatMap(([path]) =>
      path.includes('{id}') ? ids.map((id) => path.replace('{id}', String(id))) : [path],
    );
    const more = ['csv', 'json', 'text', 'standard', 'url'].map((format) => `/api/export?format=${format}`);
    for (const path of [...asked, ...more, '/', '/proxies', '/api/nothing']) {
      const answer = await server.send(path, { headers: { accept: 'text/html, application/json' } });
      const headers = JSON.stringify([...answer.headers]);
      expect([path, secretsIn(`${headers}\n${await answer.text()}`)]).toEqual([path, []]);
    }
    for (const id of ids) {
      const started = await server.send(`/api/proxy/${id}/test`, { method: 'POST' });
      const reported = await server.post(`/api/proxy/${id}/report`, { ok: false });
      const wrong = await server.post('/api/test_proxy_quick', { ip: '127.9.1.1', port: 1, proxy_id: id });
      expect(secretsIn(`${await started.text()}${await reported.text()}${await wrong.text()}`)).toEqual([]);
    }
    await refreshed();
    expect(posted.join()).toContain('refresh.finished');
    expect(server.logged.length).toBeGreaterThan(10);
    const heard = [...posted, ...events, JSON.stringify(server.logged), Bun.inspect(server.logged)].join(
      '\n',
    );
    expect(secretsIn(heard)).toEqual([]);
    expect(heard).not.toContain(STRANGERS);
  });

  test('picpool check tries the entries of a list with their logins, and prints them again', async () => {
    const list = `${micro}:${MICRO.user.replace(' ', '%20')}:x\nsocks5://${inUrl(MICRO)}@${micro}\n${tiny}:operator:Sesame-open-1\n${tiny}:operator:no\n`;
    const { code, stdout, stderr } = await cli(['check', '--quiet'], { env: world, stdin: list });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.trim().split('\n').toSorted()).toEqual([
      `http://${inUrl(TINY)}@${tiny}`,
      `socks5://${inUrl(MICRO)}@${micro}`,
    ]);
  });

  test.each([
    ['plain requests and tunnels', () => `http://${inUrl(TINY)}@${tiny}`, 'a page'],
    ['tunnels of SOCKS5', () => `socks5://${inUrl(MICRO)}@${micro}`, 'a page'],
    ['nothing with another login', () => `http://operator:wrong@${tiny}`, null],
  ] as const)('the gateway of the command line carries %s', async (_, line, expected) => {
    const page = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('a page') });
    const options = ['--allow-private', '--ports', 'any', '--port', '0', '--list', '-'];
    const child = Bun.spawn(cliCommand(['gateway', ...options]), {
      stdin: new Blob([`${line()}\nrubbish\n`]),
      stdout: 'ignore',
      stderr: 'pipe',
      env: cliEnvironment(),
    });
    try {
      const { value } = await child.stderr.getReader().read();
      const said = new TextDecoder().decode(value);
      expect(said).toEndWith(', 1 proxy; 1 entry is not a proxy\n');
      const [proxy = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
      const answer = await fetch(`http://127.0.0.1:${page.port}/`, { proxy });
      if (expected === null) expect(answer.status).toBeGreaterThan(400);
      else expect(await answer.text()).toBe(expected);
    } finally {
      child.kill();
      await child.exited;
      await page.stop(true);
    }
  });
});
