import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
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
      const list = world.listOf(
        'hang',
        'http',
        'reset',
        'login',
        'liar',
        'socks5',
        'socks4',
        'swallow',
        'http',
      );
      gateway = await startGatewayProcess(list, [], { runtime });
      proxy = `127.0.0.1:${gateway.port}`;
    });
    afterAll(async () => {
      expect(await gateway.stop()).toBe(0);
    });

    test.each(['http', 'socks5h', 'socks5'])('curl gets a page over https through %s', async (scheme) => {
      const host =
        scheme === 'socks5' ? ['--resolve', `example.com:${new URL(world.https).port}:127.0.0.1`] : [];
      const { out, err } = await curl(
        '-x',
        `${scheme}://${proxy}`,
        '--cacert',
        world.ca,
        ...host,
        `${world.https}/`,
      );
      expect(err).toBe('');
      expect(out.toString()).toBe(TARGET_PAGE);
    });

    test.each(['http', 'socks5h'])('curl gets a page over plain http through %s', async (scheme) => {
      const { out, err } = await curl('-x', `${scheme}://${proxy}`, `${world.http}/`);
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

describe('picpool gateway', () => {
  test('sends a POST once, and says so when the proxy fails after that', async () => {
    const gateway = await startGatewayProcess(world.listOf('swallow'));
    const { out } = await curl(
      '-x',
      `127.0.0.1:${gateway.port}`,
      '-i',
      '-d',
      'x',
      `${world.http}/?swallowed`,
    );
    expect(out.toString()).toMatch(
      /^HTTP\/1\.1 502 The proxy failed after it had received the request.*\r\nX-Picpool-Error: maybe_sent\r\n/,
    );
    expect(world.seen.get('POST ?swallowed')).toBeUndefined();
    await gateway.stop();
  });

  test('hands on an answer of trouble when that is what every proxy brings', async () => {
    const gateway = await startGatewayProcess(world.listOf('http', 'http', 'http'));
    const { out } = await curl(
      '-x',
      `127.0.0.1:${gateway.port}`,
      '-w',
      '%{http_code}',
      `${world.http}/broken`,
    );
    expect(out.toString()).toBe('out of order503');
    await gateway.stop();
  });

  test('asks the next proxy where one has trouble of its own', async () => {
    const gateway = await startGatewayProcess(world.listOf('sick', 'http', 'http'));
    for (let round = 0; round < 5; round++) {
      const { out } = await curl('-x', `127.0.0.1:${gateway.port}`, `${world.http}/`);
      expect(out.toString()).toBe(TARGET_PAGE);
    }
    await gateway.stop();
  });

  test('says which proxies brought nothing, in HTTP before a strict CONNECT and in SOCKS5', async () => {
    const args = ['--strict-connect', '--timeout', '1s'];
    const gateway = await startGatewayProcess(world.listOf('login', 'reset', 'hang'), args);
    const proxy = `127.0.0.1:${gateway.port}`;
    const refused = await curl('-x', proxy, '-v', `${world.https}/`);
    expect(refused.err).toContain('X-Picpool-Error: no_answer');
    const socks = await curl('-x', `socks5h://${proxy}`, `${world.https}/`);
    expect(socks.code).toBe(97);
    const plain = await curl('-x', proxy, '-w', '%{http_code}', `${world.http}/`);
    expect(plain.out.toString()).toEndWith('502');
    await gateway.stop();
  });

  test('hands on no page of a proxy that relays plain requests and lies in tunnels', async () => {
    const gateway = await startGatewayProcess(world.listOf('liar', 'http', 'http'));
    const pages = async (scheme: string, times: number) => {
      const urls = Array.from({ length: times }, () => `${world.http}/`);
      const found: string[] = [];
      for (const url of urls)
        found.push((await curl('-x', `${scheme}://127.0.0.1:${gateway.port}`, url)).out.toString());
      return new Set(found);
    };
    expect(await pages('http', 12)).toEqual(new Set([TARGET_PAGE]));
    expect(await pages('socks5h', 8)).toEqual(new Set([TARGET_PAGE]));
    await gateway.stop();
  });

  test('answers clients at once that speak TLS or SOCKS4 to it', async () => {
    const gateway = await startGatewayProcess(world.listOf('http'));
    const proxy = `127.0.0.1:${gateway.port}`;
    // Both say that the proxy has answered in another protocol, and how they say it is theirs.
    expect((await curl('-x', `https://${proxy}`, `${world.http}/`)).code).toBe(35);
    expect((await curl('-x', `socks4a://${proxy}`, `${world.http}/`)).code).toBe(97);
    await gateway.stop();
  });

  test('resets a TLS client whom no proxy serves, as its 200 is said already', async () => {
    const gateway = await startGatewayProcess(world.listOf('login', 'reset'), ['--timeout', '5s']);
    const { code, err } = await curl('-x', `127.0.0.1:${gateway.port}`, '-v', `${world.https}/`);
    expect(err).toContain('200 Connection established');
    expect(err).toContain('Connection reset by peer');
    expect(code).toBe(35);
    await gateway.stop();
  });

  test('refuses targets of the own network and ports besides 80 and 443 unless told otherwise', async () => {
    const list = world.listOf('http');
    const child = await startGatewayProcess(list, ['--ports', '80,443']);
    const proxy = `127.0.0.1:${child.port}`;
    const { err } = await curl('-x', proxy, '-v', 'https://example.com:8443/');
    expect(err).toContain('403 Port 8443 is not allowed here');
    expect(err).toContain('X-Picpool-Error: target_refused');
    await child.stop();
  });

  test('answers a request that was not meant for a proxy in words', async () => {
    const gateway = await startGatewayProcess(world.listOf('http'));
    const { out } = await curl('-i', `http://127.0.0.1:${gateway.port}/`);
    expect(out.toString()).toContain('This is a proxy: it accepts CONNECT and URLs that begin with http://.');
    await gateway.stop();
  });
});
