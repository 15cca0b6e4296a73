import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { absent } from '../support/absent.ts';
import { type NameServer, startNameServer, withNameServers } from '../support/farm/name-server.ts';
import { type PaidProxy, startPaidProxy } from '../support/farm/paid-proxy.ts';
import { type ProxyWorld, startProxyWorld } from '../support/farm/proxy-world.ts';
import { curl, LARGE, sha } from '../support/gateway/world.ts';
import { json } from '../support/json.ts';
import { logInto, type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { sharedFolder } from '../support/shared.ts';
import { until } from '../support/stores/services.ts';

/** Only root may give a process name servers of its own. */
const isRoot = process.getuid?.() === 0;
const folder = await sharedFolder();
const EXITS = {
  'me:verysecret': '127.9.1.1',
  'other:verysecret': '127.9.1.2',
  'third:verysecret': '127.9.1.3',
};

describe.skipIf(!isRoot || absent('unshare'))('upstreams that the operator pays for', () => {
  let world: ProxyWorld;
  let names: NameServer;
  let proxies: PaidProxy[];
  let target: Bun.Server<undefined>;
  beforeAll(async () => {
    world = await startProxyWorld();
    target = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response(LARGE) });
    names = await startNameServer('127.0.0.54', { 'paid.judge.test': '127.0.0.1' });
    proxies = [
      await startPaidProxy({ exits: EXITS }),
      await startPaidProxy({ exits: EXITS, tls: world.certificates.good }),
    ];
    const [plain, tls] = proxies.map(({ port }) => port);
    await writeFile(join(folder, 'resolv.conf'), `nameserver ${names.address}\n`);
    const lists = {
      first: `paid.judge.test:${plain}:me:verysecret\nhttp://nobody:verysecret@paid.judge.test:${plain}\n`,
      second: `http://other:verysecret@paid.judge.test:${plain}\n`,
      third: `tls://third:verysecret@paid.judge.test:${tls}\n`,
    };
    for (const [name, text] of Object.entries(lists)) await writeFile(join(folder, name), text);
  }, 180_000);
  afterAll(async () => {
    names.close();
    await target.stop(true);
    for (const proxy of proxies) proxy.stop();
    await world.stop();
  });

  test.each(['bun', 'deno'] as const)(
    'carry traffic, and are in no list, export, count, log or metric, on %s',
    async (runtime) => {
      const env = {
        ...world.env,
        PROXY_SOURCES: ['first', 'second', 'third'].map((name) => join(folder, name)).join(),
        PROXY_REFRESH_ON_START: 'true',
        GATEWAY_PORT: '0',
        LOG_LEVEL: 'debug',
        GATEWAY_PORTS: 'any',
      };
      const data = join(folder, runtime);
      const server: ServerProcess = await startServer(runtime, env, data, [
        ...withNameServers(join(folder, 'resolv.conf')),
        ...logInto(join(folder, `${runtime}.log`)),
      ]);
      try {
        const log = () => readFileSync(join(folder, `${runtime}.log`), 'utf8');
        await until(() => log().split('upstream works').length > 3);
        const gateway = `127.0.0.1:${/gateway +\S+:(\d+)/.exec(server.stderr())?.[1]}`;
        const peer = new URL('/peer', world.page).href;
        const large = `http://127.0.0.1:${target.port}/`;
        for (const way of ['http', 'socks5h', 'connect']) {
          const scheme = way === 'connect' ? 'http' : way;
          const more = way === 'connect' ? ['-p'] : [];
          const seen = async (options: string) =>
            (await curl('-x', `${scheme}://u-${options}:x@${gateway}`, ...more, peer)).out.toString();
          // The gateway looks for changes every few seconds.
          await until(async () => (await seen('source-third')) === '127.9.1.3');
          expect([way, await seen('source-first'), await seen('source-second.first')]).toEqual([
            way,
            '127.9.1.1',
            '127.9.1.2',
          ]);
          expect(await seen('source-third.first-session-a')).toBe('127.9.1.3');
          // TLS to the proxy waits for slow readers, as everything does.
          const through = `${scheme}://u-source-third:x@${gateway}`;
          const { out } = await curl('-x', through, ...more, '--limit-rate', '20M', large);
          expect([way, out.length, sha(out)]).toEqual([way, LARGE.length, sha(LARGE)]);
        }
        const at = (path: string) => fetch(`${server.url}${path}`);
        await until(
          async () => (await json<{ condition: string }>(await at('/api/status'))).condition === 'ready',
        );
        for (const path of ['/api/v1/proxies', '/api/v1/proxies?status=dead'])
          expect(await json(await at(path))).toMatchObject({ total: 0, proxies: [] });
        expect(await (await at('/api/export')).text()).toBe('');
        expect(await json(await at('/api/stats'))).toMatchObject({ alive: 0, total: 0 });
        const { sources } = await json<{ sources: object[] }>(await at('/api/sources'));
        const counts = { found: 0, fresh: 0, checked: 0, alive: 0, failures: 0, last_error: null };
        expect(sources).toEqual(Array.from({ length: 3 }, () => expect.objectContaining(counts)));
        const said = `${await (await at('/metrics')).text()}${await (await at('/proxies')).text()}`;
        expect(said).not.toContain('judge.test');
        expect(said + server.stderr() + log()).not.toContain('verysecret');
      } finally {
        await server.stop();
      }
    },
    120_000,
  );
});
