import { afterAll, beforeAll, expect, test } from 'bun:test';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { absent } from '../support/absent.ts';
import { freePort } from '../support/free-port.ts';
import { json } from '../support/json.ts';
import { QUIET, upload } from '../support/servers/quiet-server.ts';
import { type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { find, type Service, startRedis, until } from '../support/stores/services.ts';

/** Alerts that a fault of this test makes ring. The others are tested with made-up numbers only. */
const RUNG = [
  ...['PicpoolAbuse', 'PicpoolDegraded', 'PicpoolDown', 'PicpoolJudgesDown', 'PicpoolNothingRemoved'],
  'PicpoolPoolLow',
  ...['PicpoolStoreErrors', 'PicpoolStoreLag', 'PicpoolUnavailable', 'PicpoolUploadsRefused'],
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
    const port = await freePort();
    const targets = copies.map(({ url }) => `'${new URL(url).host}'`).join(', ');
    await writeFile(join(folder, 'alerts.yml'), await impatient());
    await writeFile(
      join(folder, 'prometheus.yml'),
      `global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [alerts.yml]
scrape_configs: [{ job_name: picpool, static_configs: [{ targets: [${targets}] }] }]
`,
    );
    const child = spawn(
      await find('prometheus', "Debian's package prometheus"),
      [
        ...[`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`],
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
    const untilRung = (...names: string[]) =>
      until(async () => {
        const found = await look();
        return names.every((name) => found.has(name));
      }, 45_000);
    try {
      await untilRung('PicpoolJudgesDown');
      const expected = ['PicpoolJudgesDown', 'PicpoolDegraded', 'PicpoolPoolLow'];
      expect([...rung].filter((name) => !expected.includes(name))).toEqual([]);
      expect((await upload(one)).status).toBe(201);
      await until(async () => {
        await Promise.all(Array.from({ length: 40 }, () => fetch(`${other.url}/api/list`)));
        return (await look()).has('PicpoolAbuse');
      }, 45_000);
      // The disk of the files loses their mark.
      for (const name of await readdir(join(folder, 'images'), { recursive: true }))
        if (name.endsWith('picpool-files-id')) await rm(join(folder, 'images', name));
      await untilRung('PicpoolNothingRemoved', 'PicpoolDegraded');
      await one.stop();
      const full = {
        ...settings,
        RATE_LIMITS: 'off',
        IMAGE_MIN_FREE: '900000GiB',
        PORT: new URL(one.url).port,
      };
      copies.push(await startServer('bun', full));
      const third = copies[2] as ServerProcess;
      await until(async () => {
        expect((await upload(third)).status).toBe(507);
        return (await look()).has('PicpoolUploadsRefused');
      }, 30_000);
      await redis.kill();
      await until(async () => {
        for (let times = 0; times < 5; times++) await upload(third);
        const found = await look();
        return ['PicpoolStoreErrors', 'PicpoolUnavailable', 'PicpoolStoreLag'].every((name) =>
          found.has(name),
        );
      }, 60_000);
      third.kill('SIGKILL');
      await untilRung('PicpoolDown');
      expect(RUNG.filter((name) => !rung.has(name))).toEqual([]);
    } finally {
      child.kill('SIGTERM');
      await once(child, 'exit');
      await redis.start();
    }
  },
  240_000,
);
