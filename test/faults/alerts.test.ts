import { afterAll, beforeAll, expect, test } from 'bun:test';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { openRedis } from '../../adapters/redis/connection.ts';
import { copyTree } from '../../scripts/mutate/copy-tree.ts';
import { absent } from '../support/absent.ts';
import { startJudge } from '../support/farm/judge-server.ts';
import { startWitness } from '../support/farm/witness-server.ts';
import { freePort } from '../support/free-port.ts';
import { startBanningSite } from '../support/gateway/banning-site.ts';
import { photo } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { childrenOf } from '../support/servers/processes.ts';
import { QUIET, upload } from '../support/servers/quiet-server.ts';
import { startRelay } from '../support/servers/relay.ts';
import { type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { sharedFolder } from '../support/shared.ts';
import { command, find, type Service, startRedis, until } from '../support/stores/services.ts';

/** Alerts that a fault of stores and copies makes ring. */
const OF_STORES = [
  ...['PicpoolAbuse', 'PicpoolDegraded', 'PicpoolDown', 'PicpoolErrors', 'PicpoolJudgesDown'],
  ...['PicpoolNothingRemoved', 'PicpoolPoolLow', 'PicpoolSlow', 'PicpoolStoreErrors', 'PicpoolStoreLag'],
  ...['PicpoolUnavailable', 'PicpoolUploadsRefused'],
];
/** Those that work which fails, or is too much, makes ring. */
const OF_WORK = [
  ...['PicpoolConversionsFail', 'PicpoolConversionsQueue', 'PicpoolDiskFilling', 'PicpoolGatewayFails'],
  ...['PicpoolGatewayFewExits', 'PicpoolGatewayShutOut', 'PicpoolOutOfMemory', 'PicpoolOverloaded'],
  ...['PicpoolRefreshOverdue', 'PicpoolUnreadableRecords', 'PicpoolVersionsDiffer', 'PicpoolWebhooksFail'],
];

let redis: Service;
const copies: ServerProcess[] = [];
beforeAll(async () => {
  redis = await startRedis();
  await mkdir(join(folder, 'images'));
});
afterAll(async () => {
  for (const copy of copies) copy.kill('SIGKILL');
  await Promise.all(copies.map(({ exited }) => exited));
  await redis.stop();
});
const folder = await sharedFolder();

/** The rules without their patience: minutes and hours become seconds. */
async function impatient(): Promise<string> {
  const rules = await readFile('examples/prometheus/alerts.yml', 'utf8');
  return rules
    .replace(/for: \d+[mh]/g, 'for: 0s')
    .replace(/\[\d+[mh]\]/g, '[10s]')
    .replaceAll('3 * 3600', '6');
}

/** A Prometheus that asks the servers every second. */
async function watch(servers: readonly ServerProcess[]) {
  const own = await mkdtemp(join(folder, 'prometheus-'));
  const port = await freePort();
  const targets = servers.map(({ url }) => `'${new URL(url).host}'`).join(', ');
  await writeFile(join(own, 'alerts.yml'), await impatient());
  await writeFile(
    join(own, 'prometheus.yml'),
    `global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [alerts.yml]
scrape_configs: [{ job_name: picpool, static_configs: [{ targets: [${targets}] }] }]
`,
  );
  const child = spawn(
    await find('prometheus', "Debian's package prometheus"),
    [
      ...[`--config.file=${own}/prometheus.yml`, `--storage.tsdb.path=${own}/data`],
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  );
  /** Returns what has rung since then: an alert may end before anybody looks at those that ring now. */
  async function rungSince(began: number): Promise<Set<string>> {
    const seconds = Math.ceil((Date.now() - began) / 1000) + 1;
    const query = `group by (alertname) (last_over_time(ALERTS{alertstate="firing"}[${seconds}s]))`;
    const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`;
    // It refuses while it starts.
    const answer = await fetch(url)
      .then(json<{ data: { result: { metric: { alertname: string } }[] } }>)
      .catch(() => null);
    return new Set(answer?.data.result.map(({ metric }) => metric.alertname));
  }
  const all = new Set<string>();
  return {
    /** What steps have waited for. */
    all,
    rungSince,
    /** Resolves when they have rung, each since the call. `meanwhile` is done before each look. */
    async untilRung(names: readonly string[], meanwhile = async () => {}) {
      const began = Date.now();
      let silent = names;
      const haveAllRung = async () => {
        await meanwhile();
        const found = await rungSince(began);
        silent = names.filter((name) => !found.has(name));
        return silent.length === 0;
      };
      await until(haveAllRung, 90_000).catch((cause) => {
        throw new Error(`did not ring: ${silent.join(', ')}`, { cause });
      });
      for (const name of names) all.add(name);
    },
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

test.skipIf(absent('prometheus'))(
  'a Prometheus rings for faults of two copies, and not before them',
  async () => {
    const redisPort = Number(new URL(redis.url).port);
    const link = await startRelay(redisPort);
    const settings = {
      ...QUIET,
      METADATA_URL: `redis://127.0.0.1:${link.port}`,
      BLOBS_URL: `file:${folder}/images`,
      // Reads go on being answered at once, for the faults that they are to meet.
      RATE_LIMITS: 'write=100/1m',
    };
    for (let number = 0; number < 2; number++) copies.push(await startServer('bun', settings));
    const [one, other] = copies as [ServerProcess, ServerProcess];
    const albums = () => Promise.all(copies.map(({ url }) => fetch(`${url}/api/albums/abcdefghijkl`)));
    // A series that begins with its first fault has no rate yet.
    await albums();
    const began = Date.now();
    const { all, rungSince, untilRung, stop } = await watch(copies);
    try {
      const expected = ['PicpoolJudgesDown', 'PicpoolDegraded', 'PicpoolPoolLow'];
      await untilRung(['PicpoolJudgesDown', 'PicpoolPoolLow']);
      expect([...(await rungSince(began))].filter((name) => !expected.includes(name))).toEqual([]);
      link.slow(300);
      for (let times = 0; times < 3; times++) await albums();
      link.open();
      await untilRung(['PicpoolSlow']);
      expect((await upload(one)).status).toBe(201);
      await untilRung(['PicpoolAbuse'], async () => {
        const { url } = other;
        await Promise.all(Array.from({ length: 40 }, () => fetch(`${url}/api/albums`, { method: 'POST' })));
      });
      // Another program writes to the same Redis.
      await command(redisPort, 'SET', '{picpool:albums}:records', 'taken');
      await untilRung(['PicpoolErrors'], async () => void (await albums()));
      await command(redisPort, 'DEL', '{picpool:albums}:records');
      // The disk of the files loses their mark.
      for (const name of await readdir(join(folder, 'images'), { recursive: true }))
        if (name.endsWith('picpool-files-id')) await rm(join(folder, 'images', name));
      await untilRung(['PicpoolNothingRemoved', 'PicpoolDegraded']);
      await one.stop();
      const full = {
        ...settings,
        RATE_LIMITS: 'off',
        IMAGE_MIN_FREE: '900000GiB',
        PORT: new URL(one.url).port,
      };
      copies.push(await startServer('bun', full));
      const third = copies[2] as ServerProcess;
      await untilRung(['PicpoolUploadsRefused'], async () => {
        expect((await upload(third)).status).toBe(507);
      });
      await redis.kill();
      await untilRung(['PicpoolStoreErrors', 'PicpoolUnavailable', 'PicpoolStoreLag'], async () => {
        for (let times = 0; times < 5; times++) await upload(third);
      });
      third.kill('SIGKILL');
      await untilRung(['PicpoolDown']);
      expect([...all].toSorted()).toEqual(OF_STORES);
    } finally {
      await stop();
      await link.stop();
      // It still runs if something before has failed.
      await redis.kill();
      await redis.start();
    }
  },
  240_000,
);

/** The program, as the version after this one. */
async function nextVersion(): Promise<readonly string[]> {
  const tree = await copyTree(process.cwd());
  const manifest = JSON.parse(await readFile(join(tree, 'package.json'), 'utf8'));
  await writeFile(join(tree, 'package.json'), JSON.stringify({ ...manifest, version: '99.0.0' }));
  return [process.execPath, join(tree, 'src/main.ts')];
}

test.skipIf(absent('prometheus'))(
  'a Prometheus rings for work that fails',
  async () => {
    const own = await startRedis();
    const receiver = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => new Response(null, { status: 410 }),
    });
    const program = await nextVersion();
    let isBanned = (_exit: string) => false;
    const site = await startBanningSite(4, (exit) => (isBanned(exit) ? 403 : 200));
    const [judge, witness] = [await startJudge(), await startWitness()];
    const list = join(folder, 'proxies.txt');
    await writeFile(list, site.proxies.map((proxy) => `http://${proxy}\n`).join(''));
    const small = [
      'unshare',
      '--mount',
      'sh',
      '-c',
      'mount -t tmpfs -o size=300m tmpfs "$DATA_DIR" && exec "$@"',
      'sh',
    ];
    const images = await startServer(
      'bun',
      {
        ...QUIET,
        SERVICES: 'image',
        IMAGE_MIN_FREE: '0',
        WEBHOOK_URLS: receiver.url.href,
        PROXY_ALLOW_PRIVATE: 'true',
        WEBHOOK_SECRET: 'secret-of-webhooks-in-tests',
      },
      undefined,
      small,
    );
    const gateways: string[] = [];
    const startPool = async (runtime: 'bun' | readonly string[]) => {
      const port = String(await freePort());
      gateways.push(`http://127.0.0.1:${port}`);
      return startServer(runtime, {
        ...QUIET,
        SERVICES: 'proxy',
        METADATA_URL: own.url,
        PROXY_ALLOW_PRIVATE: 'true',
        PROXY_SOURCES: list,
        PROXY_JUDGES: judge.url,
        PROXY_WITNESSES: witness.url,
        PROXY_REFRESH_INTERVAL: '2s',
        GATEWAY_PORT: port,
        GATEWAY_PORTS: 'any',
        GATEWAY_TIMEOUT: '1s',
      });
    };
    const connection = await openRedis(own.url);
    await connection.call('never', 'HSET', connection.key('proxies', 'records'), '99', '2["damaged"]');
    await connection.close();
    const pools = [await startPool(program), await startPool('bun')];
    const { all, untilRung, stop } = await watch([images, ...pools]);
    try {
      await untilRung(['PicpoolVersionsDiffer', 'PicpoolDiskFilling', 'PicpoolUnreadableRecords']);

      /** The site is asked 20 times through each copy. */
      const browse = async () => {
        const asked = Array.from({ length: 20 }, () => gateways).flat();
        const url = `http://127.0.0.1:${site.ports.http}/`;
        await Promise.all(
          asked.map((proxy) =>
            fetch(url, { proxy }).then(
              (answer) => answer.text(),
              () => '',
            ),
          ),
        );
      };
      await untilRung(['PicpoolGatewayFewExits'], browse);
      const spared = site.proxies[0]?.split(':')[0];
      isBanned = (exit) => exit !== spared;
      await untilRung(['PicpoolGatewayShutOut'], browse);
      await rm(list);
      site.close();
      await untilRung(['PicpoolGatewayFails', 'PicpoolRefreshOverdue'], browse);

      const large = new Uint8Array(await photo(5000, 4000));
      const send = (signal?: AbortSignal) =>
        fetch(`${images.url}/api/upload?format=avif`, {
          method: 'POST',
          body: large,
          signal: signal ?? null,
        });
      const left = new AbortController();
      const many = Array.from({ length: 20 }, () => send(left.signal).catch(() => {}));
      await untilRung(['PicpoolConversionsQueue']);
      left.abort();
      await Promise.all(many);
      await untilRung(['PicpoolOverloaded'], () => crowd(images));
      /** One conversion dies by a fault of its own, one by the kernel. */
      const killOne = async (signal: NodeJS.Signals) => {
        const answer = send();
        await Bun.sleep(300);
        for (const pid of await childrenOf(images.pid)) process.kill(pid, signal);
        await (await answer).text();
      };
      await untilRung(['PicpoolWebhooksFail'], async () => void (await upload(images)));
      await untilRung(['PicpoolOutOfMemory'], () => killOne('SIGKILL'));
      await untilRung(['PicpoolConversionsFail'], () => killOne('SIGSEGV'));
      expect([...all].toSorted()).toEqual(OF_WORK);
    } finally {
      await stop();
      for (const server of [images, ...pools]) await server.stop();
      await Promise.all([judge.stop(), witness.stop()]);
      site.close();
      await own.stop();
      await receiver.stop(true);
      await rm(dirname(dirname(program[1] ?? '')), { recursive: true });
    }
  },
  300_000,
);

/** More clients than the server has room for ask for a page at the same moment, and leave when they have an answer. */
async function crowd({ url }: ServerProcess): Promise<void> {
  const port = Number(new URL(url).port);
  const clients = await Promise.all(
    Array.from({ length: 3000 }, async () => {
      const client = connect(port, '127.0.0.1');
      await once(client, 'connect');
      return client;
    }),
  );
  const answers = clients.map((client) => once(client, 'data'));
  for (const client of clients) client.write('GET /gallery HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  await Promise.allSettled(answers);
  for (const client of clients) client.destroy();
}
