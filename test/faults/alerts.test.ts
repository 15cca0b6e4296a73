import { afterAll, beforeAll, expect, test } from 'bun:test';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openRedis } from '../../adapters/redis/connection.ts';
import { copyTree } from '../../scripts/mutate/copy-tree.ts';
import { absent } from '../support/absent.ts';
import { freePort } from '../support/free-port.ts';
import { photo } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { childrenOf } from '../support/servers/processes.ts';
import { QUIET, upload } from '../support/servers/quiet-server.ts';
import { type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { find, type Service, startRedis, until } from '../support/stores/services.ts';

/** Alerts that a fault of stores and copies makes ring. */
const OF_STORES = [
  ...['PicpoolAbuse', 'PicpoolDegraded', 'PicpoolDown', 'PicpoolJudgesDown', 'PicpoolNothingRemoved'],
  'PicpoolPoolLow',
  ...['PicpoolStoreErrors', 'PicpoolStoreLag', 'PicpoolUnavailable', 'PicpoolUploadsRefused'],
];
/** Those that work which fails makes ring. Those in neither are tested with made-up numbers only. */
const OF_WORK = [
  ...['PicpoolConversionsFail', 'PicpoolDiskFilling', 'PicpoolGatewayFails', 'PicpoolOutOfMemory'],
  ...['PicpoolUnreadableRecords', 'PicpoolVersionsDiffer', 'PicpoolWebhooksFail'],
];

let folder: string;
let redis: Service;
const copies: ServerProcess[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'picpool-alerts-'));
  redis = await startRedis();
  await mkdir(join(folder, 'images'));
});
afterAll(async () => {
  for (const copy of copies) copy.kill('SIGKILL');
  await Promise.all(copies.map(({ exited }) => exited));
  await redis.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The rules without their patience: minutes become seconds. */
async function impatient(): Promise<string> {
  const rules = await readFile('examples/prometheus/alerts.yml', 'utf8');
  return rules.replace(/for: \d+[mh]/g, 'for: 0s').replace(/\[\d+m\]/g, '[10s]');
}

/** A Prometheus that asks the servers every second, and what has rung there so far. */
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
  const rung = new Set<string>();
  const look = async () => {
    const url = `http://127.0.0.1:${port}/api/v1/alerts`;
    // It refuses while it starts.
    const answer = await fetch(url)
      .then(json<{ data: { alerts: { labels: { alertname: string } }[] } }>)
      .catch(() => null);
    for (const { labels } of answer?.data.alerts ?? []) rung.add(labels.alertname);
    return rung;
  };
  return {
    rung,
    look,
    /** Resolves when they have rung. `meanwhile` is done before each look. */
    untilRung: (names: readonly string[], meanwhile = async () => {}) =>
      until(async () => {
        await meanwhile();
        const found = await look();
        return names.every((name) => found.has(name));
      }, 60_000),
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

test.skipIf(absent('prometheus'))(
  'a Prometheus rings for faults of two copies, and not before them',
  async () => {
    const settings = {
      ...QUIET,
      METADATA_URL: redis.url,
      BLOBS_URL: `file:${folder}/images`,
      RATE_LIMITS: 'read=100/1m',
    };
    for (let number = 0; number < 2; number++) copies.push(await startServer('bun', settings));
    const [one, other] = copies as [ServerProcess, ServerProcess];
    const { rung, look, untilRung, stop } = await watch(copies);
    try {
      await untilRung(['PicpoolJudgesDown']);
      const expected = ['PicpoolJudgesDown', 'PicpoolDegraded', 'PicpoolPoolLow'];
      expect([...rung].filter((name) => !expected.includes(name))).toEqual([]);
      expect((await upload(one)).status).toBe(201);
      await untilRung(['PicpoolAbuse'], async () => {
        await Promise.all(Array.from({ length: 40 }, () => fetch(`${other.url}/api/list`)));
      });
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
      await look();
      expect(OF_STORES.filter((name) => !rung.has(name))).toEqual([]);
    } finally {
      await stop();
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
    const command = await nextVersion();
    const gatewayPort = await freePort();
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
    const pool = await startServer(command, {
      ...QUIET,
      SERVICES: 'proxy',
      METADATA_URL: own.url,
      GATEWAY_PORT: String(gatewayPort),
      GATEWAY_TIMEOUT: '1s',
    });
    const { rung, untilRung, stop } = await watch([images, pool]);
    try {
      const connection = await openRedis(own.url);
      await connection.call('never', 'HSET', connection.key('proxies', 'records'), '1', '2["damaged"]');
      await connection.close();
      const large = new Uint8Array(await photo(5000, 4000));
      const send = () => fetch(`${images.url}/api/upload?format=avif`, { method: 'POST', body: large });
      /** One conversion dies by a fault of its own, one by the kernel. */
      const killOne = async (signal: NodeJS.Signals) => {
        const answer = send();
        await Bun.sleep(300);
        for (const pid of await childrenOf(images.pid)) process.kill(pid, signal);
        await (await answer).text();
      };
      expect((await upload(images)).status).toBe(201);
      await untilRung(['PicpoolOutOfMemory', 'PicpoolWebhooksFail'], () => killOne('SIGKILL'));
      await untilRung(['PicpoolConversionsFail'], () => killOne('SIGSEGV'));
      const proxy = `http://127.0.0.1:${gatewayPort}`;
      await untilRung(['PicpoolGatewayFails'], async () => {
        await fetch('http://site.example/', { proxy }).catch(() => {});
      });
      await untilRung(OF_WORK);
      expect(OF_WORK.filter((name) => !rung.has(name))).toEqual([]);
    } finally {
      await stop();
      for (const server of [images, pool]) await server.stop();
      await own.stop();
      await receiver.stop(true);
      await rm(dirname(dirname(command[1] ?? '')), { recursive: true });
    }
  },
  240_000,
);
