import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { FarmRole } from '../support/gateway/farm.ts';
import {
  curl,
  type GatewayProcess,
  type GatewayWorld,
  LARGE,
  sha,
  startGatewayProcess,
  startGatewayWorld,
  TARGET_PAGE,
} from '../support/gateway/world.ts';
import { cli } from '../support/servers/cli.ts';

const ROLES = ['hang', 'http', 'reset', 'login', 'liar', 'socks5', 'socks4', 'swallow', 'http'] as const;
let world: GatewayWorld;
beforeAll(async () => {
  world = await startGatewayWorld();
});
afterAll(() => world.close());

for (const runtime of ['bun', 'deno'] as const) {
  describe(`picpool gateway over a list, on ${runtime}`, () => {
    let gateway: GatewayProcess;
    let proxy: string;
    beforeAll(async () => {
      gateway = await startGatewayProcess(world.listOf(...ROLES), [], { runtime });
      proxy = `127.0.0.1:${gateway.port}`;
    });
    afterAll(async () => {
      expect(await gateway.stop()).toBe(0);
    });

    test.each([
      ['http', 'https'],
      ['http', 'http'],
      ['socks5h', 'https'],
      ['socks5h', 'http'],
      // curl looks up the name.
      ['socks5', 'https'],
    ] as const)('curl gets a page through %s over %s', async (scheme, kind) => {
      const found = ['--cacert', world.ca, '--resolve', `example.com:${new URL(world[kind]).port}:127.0.0.1`];
      const { out, err } = await curl('-x', `${scheme}://${proxy}`, ...found, `${world[kind]}/`);
      expect(err).toBe('');
      expect(out.toString()).toBe(TARGET_PAGE);
    });

    test.each(['http', 'https'] as const)('8 MB come whole over %s', async (scheme) => {
      const { out, err } = await curl('-x', proxy, '--cacert', world.ca, `${world[scheme]}/large`);
      expect(err).toBe('');
      expect(sha(out)).toBe(sha(LARGE));
    });

    test('8 MB are sent whole, and the target answers them', async () => {
      const body = ['--data-binary', '@-', '-H', 'Expect:'];
      const child = Bun.spawn(
        ['curl', '-sS', '-x', proxy, '--cacert', world.ca, ...body, `${world.https}/echo`],
        {
          stdin: LARGE,
          stdout: 'pipe',
        },
      );
      expect(sha(new Uint8Array(await new Response(child.stdout).arrayBuffer()))).toBe(sha(LARGE));
    });

    test('one connection takes several requests over plain http', async () => {
      const url = `${world.http}/`;
      const { out } = await curl('-x', proxy, '-w', '%{num_connects} ', url, url, url);
      expect(out.toString()).toBe(`${TARGET_PAGE}1 ${TARGET_PAGE}0 ${TARGET_PAGE}0 `);
    });

    test('the target learns nothing of the connection between client and gateway', async () => {
      const { out } = await curl('-x', `user:secret@${proxy}`, '-H', 'X-Own: 1', `${world.http}/headers`);
      const headers = JSON.parse(out.toString());
      expect(headers).toMatchObject({ 'x-own': '1', host: new URL(world.http).host });
      expect(Object.keys(headers).filter((name) => name.startsWith('proxy-'))).toEqual([]);
    });
  });
}

/** Starts `picpool gateway` over proxies of these roles, for as long as the work with its address lasts. */
async function over(roles: FarmRole[], work: (proxy: string) => Promise<void>, args: string[] = []) {
  const gateway = await startGatewayProcess(world.listOf(...roles), args);
  await work(`127.0.0.1:${gateway.port}`).finally(gateway.stop);
}

const through = async (proxy: string, ...args: string[]) => (await curl('-x', proxy, ...args)).out.toString();

describe('picpool gateway', () => {
  test('says that a port is taken, and that what the list has is never dialled', async () => {
    const { port } = new URL(world.http);
    const taken = await cli(['gateway', '--list', '-', '--port', port], { stdin: '203.0.114.9:80' });
    expect(taken.code).toBe(1);
    expect(taken.stderr).toStartWith(`picpool: The gateway cannot listen on 127.0.0.1:${port}; `);
    const own = await cli(['gateway', '--list', '-', '--allow-private'], { stdin: '127.0.0.1:25' });
    expect([own.code, own.stderr]).toEqual([
      1,
      'picpool: There are no proxies in the list; 1 entry has a port or an address that is never dialled.\n',
    ]);
  });

  test.each([
    ['SIGTERM', 'http', '/large', '30s', 1],
    ['SIGINT', 'http', '/large', '30s', 1],
    ['SIGTERM', 'http', '/endless', '100ms', 0],
    ['SIGTERM', 'https', '/endless', '100ms', 0],
  ] as const)(
    'ended by %s, delivers what it has begun over %s, %s, within %s: %i answered',
    async (...row) => {
      const [signal, kind, path, grace, count] = row;
      const gateway = await startGatewayProcess(world.listOf('http'), [], { env: { SHUTDOWN_GRACE: grace } });
      const slowly = ['--limit-rate', '8M', '-x', `127.0.0.1:${gateway.port}`, `${world[kind]}${path}`];
      const child = Bun.spawn(['curl', '-sk', ...slowly], { stdout: 'pipe' });
      const pieces: Uint8Array[] = [];
      for await (const piece of child.stdout) if (pieces.push(piece) === 1) process.kill(gateway.pid, signal);
      expect([sha(Buffer.concat(pieces)) === sha(LARGE), await gateway.ended()]).toEqual([count === 1, 0]);
      expect(gateway.stderr()).toEndWith(`picpool: ${count} of 1 request answered\n`);
    },
  );

  test('sends a POST once, and says so when the proxy fails after that', () =>
    over(['swallow'], async (proxy) => {
      expect(await through(proxy, '-i', '-d', 'x', `${world.http}/?swallowed`)).toMatch(
        /^HTTP\/1\.1 502 The proxy failed after it had received the request.*\r\nX-Picpool-Error: maybe_sent\r\n/,
      );
      expect(world.seen.get('POST ?swallowed')).toBeUndefined();
    }));

  test('says which proxies brought nothing, in HTTP before a strict CONNECT and in SOCKS5', () =>
    over(
      ['login', 'reset', 'hang'],
      async (proxy) => {
        const refused = await curl('-x', proxy, '-v', `${world.https}/`);
        expect(refused.err).toContain('X-Picpool-Error: no_answer');
        expect((await curl('-x', `socks5h://${proxy}`, `${world.https}/`)).code).toBe(97);
        expect(await through(proxy, '-w', '%{http_code}', `${world.http}/`)).toEndWith('502');
      },
      ['--strict-connect', '--timeout', '1s'],
    ));

  test('answers clients at once that speak TLS or SOCKS4 to it, or take it for a server', () =>
    over(['http'], async (proxy) => {
      // It says that the proxy has answered in another protocol, and how it says that is its own.
      expect((await curl('-x', `https://${proxy}`, `${world.http}/`)).code).toBe(35);
      const { code, err } = await curl('-x', `socks4a://${proxy}`, `${world.http}/`);
      expect([code, err]).toEqual([97, expect.stringContaining('request rejected')]);
      const { out } = await curl('-i', `http://${proxy}/`);
      expect(out.toString()).toContain(
        'This is a proxy: it accepts CONNECT and URLs that begin with http://.',
      );
    }));

  test('resets a TLS client whom no proxy serves, as its 200 is said already', () =>
    over(
      ['login', 'reset'],
      async (proxy) => {
        const { code, err } = await curl('-x', proxy, '-v', `${world.https}/`);
        expect(err).toContain('200 Connection established');
        expect(err).toContain('Connection reset by peer');
        expect(code).toBe(35);
      },
      ['--timeout', '5s'],
    ));

  test('refuses targets of the own network and ports besides 80 and 443 unless told otherwise', () =>
    over(
      ['http'],
      async (proxy) => {
        const { err } = await curl('-x', proxy, '-v', 'https://example.com:8443/');
        expect(err).toContain('403 Port 8443 is not allowed here');
        expect(err).toContain('X-Picpool-Error: target_refused');
      },
      ['--ports', '80,443'],
    ));
});
