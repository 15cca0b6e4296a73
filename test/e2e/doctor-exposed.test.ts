import { expect, test } from 'bun:test';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EXPOSED_CHECKS } from '../../src/cli/exposed.ts';
import { absent } from '../support/absent.ts';
import { createCertificates } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { readExample, startNginx } from '../support/servers/balancer.ts';
import { cli } from '../support/servers/cli.ts';
import { startServer } from '../support/servers/server-process.ts';
import { endedAfterEach } from '../support/shared.ts';
import { withFolder } from '../support/temporary.ts';

/** Starts a server that is stopped after the test. */
const start = endedAfterEach(startServer);

const NAMES = Object.keys(EXPOSED_CHECKS);
const QUIET = { PROXY_JUDGES: 'http://127.0.0.1:9/', PROXY_SOURCES: 'file:/dev/null' };

/** What the doctor says of each line: the states of its findings. */
async function examine(url: string, env: Record<string, string>) {
  const { code, stdout, stderr } = await cli(['doctor', '--exposed', url], { env });
  const states: Record<string, string> = {};
  for (const [, state = '', name = ''] of stdout.matchAll(/^(ok|warn|FAIL) +(.{17}) {2}/gm)) {
    states[name.trim()] = state;
  }
  return { code, states, stdout, stderr };
}

test('the page of what to do before has a line for each test, in the same order', async () => {
  const page = await Bun.file('docs/exposing.md').text();
  const lines = [...page.matchAll(/^\| ([\w ]+) \| /gm)].map(([, name]) => name);
  expect(lines).toEqual(['line', ...NAMES]);
});

test.skipIf(absent('nginx', 'openssl'))(
  'behind the nginx of the examples, with TLS and all settings, the doctor finds nothing',
  () =>
    withFolder(async (folder) => {
      const [certificates, port] = [await createCertificates(), await freePort()];
      await writeFile(join(folder, 'ca.pem'), certificates.ca);
      await writeFile(join(folder, 'tls.crt'), certificates.good.cert);
      await writeFile(join(folder, 'tls.key'), certificates.good.key);
      const url = `https://localhost:${port}`;
      // The server listens to the proxy alone: on a socket.
      const socket = join(folder, 'http.sock');
      const settings = {
        ...QUIET,
        HOST: `unix:${socket}`,
        PUBLIC_URL: url,
        ADMIN_TOKEN: 'a-token-of-the-administrator',
        METRICS_TOKEN: 'a-token-for-the-metrics',
        ABUSE_CONTACT: 'abuse@img.example',
      };
      const server = await startServer('bun', settings, join(folder, 'data'));
      // nginx works as a user of its own, who is in no group of the server here.
      await Promise.all([chmod(folder, 0o711), chmod(socket, 0o666)]);
      const example = (await readExample('nginx.conf'))
        .replace('server 127.0.0.1:3000;', `server unix:${socket};`)
        .replace(
          'listen 80;',
          `listen 80;\nlisten 127.0.0.1:${port} ssl; ssl_certificate ${folder}/tls.crt; ssl_certificate_key ${folder}/tls.key;`,
        );
      const proxy = await startNginx(example);
      try {
        const unused = String(await freePort());
        const env = { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'), PORT: unused };
        const { code, states } = await examine(url, env);
        expect(states).toEqual(Object.fromEntries(NAMES.map((name) => [name, 'ok'])));
        expect(code).toBe(0);
        // Without the authority the certificate is nobody's.
        const unverified = await examine(url, { PORT: unused });
        expect([unverified.code, unverified.stdout]).toEqual([1, '']);
        expect(unverified.stderr).toMatch(/does not respond \(\w*(VERIFY|CERT|ISSUER)\w*\)/);
      } finally {
        await proxy.stop();
        await server.stop();
      }
    }),
  180_000,
);

test.skipIf(absent('nginx'))(
  'behind a proxy that no setting names, and past it, the doctor finds what is wrong',
  async () => {
    const server = await startServer('bun', { ...QUIET, RATE_LIMITS: 'off', CORS_ORIGINS: '*' });
    const { host, port } = new URL(server.url);
    const proxy = await startNginx((await readExample('nginx.conf')).replaceAll('127.0.0.1:3000', host));
    try {
      const { code, states, stderr } = await examine(proxy.url, { PORT: port });
      expect(states).toEqual({
        encryption: 'FAIL',
        'proxy in front': 'FAIL',
        'forged addresses': 'ok',
        'direct access': 'FAIL',
        links: 'FAIL',
        administrator: 'FAIL',
        metrics: 'FAIL',
        'other sites': 'FAIL',
        limits: 'FAIL',
        uploads: 'warn',
      });
      expect([code, stderr]).toEqual([1, '\n8 problems to fix\n']);
    } finally {
      await proxy.stop();
      await server.stop();
    }
  },
  180_000,
);

test('a server that believes everybody, and is reached itself, is found out', async () => {
  const server = await start('bun', {
    ...QUIET,
    TRUSTED_PROXIES: 'loopback',
    PUBLIC_URL: 'https://img.example',
  });
  const { states } = await examine(server.url, { PORT: new URL(server.url).port });
  expect(states).toMatchObject({
    'forged addresses': 'FAIL',
    'direct access': 'warn',
    links: 'warn',
    limits: 'ok',
  });
  expect((await examine('ftp://img.example', {})).code).toBe(2);
  const other = await examine('http://127.0.0.1:9', {});
  expect([other.code, other.stdout]).toEqual([1, '']);
}, 180_000);

test('services below paths of their own are examined there', async () => {
  const server = await start('bun', {
    ...QUIET,
    CORS_ORIGINS: '*',
    TRUSTED_PROXIES: 'loopback',
    PROXY_BASE_PATH: '/pool',
    IMAGE_BASE_PATH: '/img',
  });
  expect((await examine(server.url, {})).states).toMatchObject({
    'forged addresses': 'FAIL',
    administrator: 'FAIL',
    'other sites': 'FAIL',
    uploads: 'warn',
  });
}, 180_000);

test('what only the API description says is unknown where a proxy withholds it', async () => {
  const server = await startServer('bun', QUIET);
  const proxy = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ url, method, headers }) {
      const { pathname, search } = new URL(url);
      if (pathname === '/openapi.json') return new Response('<html>Not here</html>', { status: 404 });
      return fetch(`${server.url}${pathname}${search}`, { method, headers });
    },
  });
  try {
    const { stdout } = await examine(proxy.url.origin, {});
    const skipped = [...stdout.matchAll(/^skip +(.+?) {2,}(.+)$/gm)].map(([, ...found]) => found);
    const text = 'cannot be seen from outside: there is no API description at /openapi.json';
    expect(skipped).toEqual([
      ['links', text],
      ['administrator', text],
    ]);
  } finally {
    await proxy.stop(true);
    await server.stop();
  }
}, 180_000);
