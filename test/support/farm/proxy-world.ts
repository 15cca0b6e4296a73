import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Protocol } from '../../../src/proxy/proxy.ts';
import { createCertificates } from '../certificates.ts';
import { startFarm } from './farm.ts';
import { startJudge } from './judge-server.ts';
import { startDante, startMicrosocks, startTinyproxy } from './real-proxies.ts';
import { startWitness } from './witness-server.ts';

const HTML_ERROR = '<html><body><h1>Service unavailable</h1><p>Try 10.0.0.1:80 later</p></body></html>';

/** A small internet on loopback: real proxies, lying ones, lists in five formats, judges, and a page to fetch. */
export async function startProxyWorld() {
  const folder = await mkdtemp(join(tmpdir(), 'picpool-world-'));
  const certificates = await createCertificates();
  const [farm, judge, tlsJudge, witness] = await Promise.all([
    startFarm(certificates),
    startJudge(),
    startJudge({ tls: certificates.good }),
    startWitness(),
  ]);
  const page = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request, server) =>
      new Response(request.url.endsWith('/peer') ? server.requestIP(request)?.address : 'a page'),
  });
  const real = await Promise.all([
    startTinyproxy('127.2.0.1'),
    startMicrosocks('127.2.0.2'),
    startDante('127.2.0.3'),
  ]);
  const [tinyPort, microPort, dantePort] = [real[0].port, real[1].port, real[2].port];

  const url = (protocol: Protocol, address: string, port: number) => `${protocol}://${address}:${port}`;
  const farmUrl = (role: Parameters<typeof farm.endpoint>[0], n = 0) => {
    const { protocol, ip, port } = farm.endpoint(role, n);
    return url(protocol, ip, port);
  };
  const tiny = url('http', '127.2.0.1', tinyPort);
  const tinyTls = url('https', '127.2.0.1', tinyPort);
  const micro = url('socks5', '127.2.0.2', microPort);
  const dante = [url('socks4', '127.2.0.3', dantePort), url('socks5', '127.2.0.3', dantePort)];
  const farmed = [farmUrl('http'), farmUrl('https'), farmUrl('socks4'), farmUrl('socks5')];
  const liars = [farmUrl('silent'), farmUrl('garbage'), farmUrl('redirect')];
  const closed = url('http', '127.3.0.1', farm.closedPort);
  const bare = (text: string) => text.replace(/^\w+:\/\//, '');

  const lists: Record<string, { format: string; protocol: Protocol | null; body: string }> = {
    lines: {
      format: 'lines',
      protocol: 'http',
      body: `\ufeff# free proxies\r\n${bare(tiny)}\r\n${bare(farmed[0] ?? '')}:Türkiye\r\n0.0.0.0:80\r\n1.2.3.4:99999\r\nArray\r\n${bare(closed)} DE-N! +\r\n`,
    },
    urls: { format: 'lines', protocol: null, body: [micro, ...dante, ...liars].join('\n') },
    csv: {
      format: 'csv',
      protocol: null,
      body: `protocol,ip,port,country\n${[tinyTls, farmed[1] ?? '']
        .map((one) => new URL(one.replace(/^https/, 'http')))
        .map(({ hostname, port }) => `https,${hostname},${port},DE`)
        .join('\n')}\n`,
    },
    json: {
      format: 'json',
      protocol: null,
      body: JSON.stringify({
        data: [
          { ip: '127.2.0.2', port: String(microPort), protocols: ['socks5'], country: 'CL' },
          { ip: farm.address('socks4'), port: String(farm.port), protocols: ['socks4'], country: 'FR' },
        ],
      }),
    },
    html: {
      format: 'html',
      protocol: 'socks5',
      body: `<table><tr><th>IP</th><th>Port</th></tr><tr><td>${farm.address('socks5')}</td><td>${farm.port}</td></tr></table>`,
    },
  };
  const listServer = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const list = lists[new URL(request.url).pathname.slice(1)];
      return list
        ? new Response(list.body)
        : new Response(HTML_ERROR, { headers: { 'content-type': 'text/html' } });
    },
  });
  const failingList = 'an error page';
  const sources = Object.entries(lists).map(([name, { format, protocol }]) => ({ name, format, protocol }));
  await writeFile(
    join(folder, 'sources.json'),
    JSON.stringify(
      [...sources, { name: failingList, format: 'lines', protocol: 'http' }].map((source) => ({
        ...source,
        url: `http://127.0.0.1:${listServer.port}/${source.name}`,
      })),
    ),
  );
  await writeFile(join(folder, 'ca.pem'), certificates.ca);

  return {
    /** The environment that makes a server live in this world. */
    env: {
      PROXY_ALLOW_PRIVATE: 'true',
      PROXY_SOURCES: join(folder, 'sources.json'),
      PROXY_JUDGES: `${judge.url},${tlsJudge.url}`,
      PROXY_JUDGE_CA: join(folder, 'ca.pem'),
      PROXY_WITNESSES: witness.url,
      PROXY_CHECK_TIMEOUT: '3s',
      RATE_LIMITS: 'off',
    },
    /** `protocol://ip:port` of every proxy that works. */
    working: [tiny, tinyTls, micro, ...dante, ...farmed],
    /** `protocol://ip:port` of those that lists name and that do not work. */
    broken: [...liars, closed],
    /** Names of the lists that can be read, and of one that cannot. */
    lists: Object.keys(lists),
    failingList,
    /** A page that only says `a page`; its URL. `/peer` beside it says who asks. */
    page: `http://127.0.0.1:${page.port}/`,
    /** Of the authority in `env.PROXY_JUDGE_CA`. */
    certificates,
    async stop() {
      await Promise.all([farm, judge, tlsJudge, witness].map((one) => one.stop()));
      await Promise.all([page.stop(true), listServer.stop(true)]);
      await Promise.all(real.map((proxy) => proxy.stop()));
      await rm(folder, { recursive: true });
    },
  };
}

export type ProxyWorld = Awaited<ReturnType<typeof startProxyWorld>>;
