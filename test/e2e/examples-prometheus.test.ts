import { afterAll, beforeAll, expect, test } from 'bun:test';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { absent } from '../support/absent.ts';
import { freePort } from '../support/free-port.ts';
import { json } from '../support/json.ts';
import { readExample } from '../support/servers/balancer.ts';
import { type RunningServer, runServer } from '../support/servers/running-server.ts';
import { sharedFolder } from '../support/shared.ts';
import { find, until } from '../support/stores/services.ts';

const run = promisify(execFile);
const PACKAGE = "Debian's package prometheus";

/** Of the API of Prometheus; without data where it reports a fault. */
interface Answer {
  data?: {
    result: unknown[];
    activeTargets: { health: string }[];
    groups: { rules: { health: string }[] }[];
  };
}

let server: RunningServer;

beforeAll(async () => {
  server = await runServer({ METRICS_TOKEN: 'token-for-prometheus' });
  await server.upload();
});
afterAll(() => server.stop());
const folder = await sharedFolder();

test.skipIf(absent('promtool'))(
  'the alerts of the examples ring when they should, and not otherwise',
  async () => {
    const { stdout } = await run(await find('promtool', PACKAGE), [
      'test',
      'rules',
      'test/fixtures/alerts.test.yml',
    ]);
    expect(stdout).toContain('SUCCESS');
    const alerts = (await readExample('prometheus/alerts.yml')).match(/(?<=- alert: )\w+/g) ?? [];
    const tested = await Bun.file('test/fixtures/alerts.test.yml').text();
    expect(alerts.filter((name) => !tested.includes(`alertname="${name}"`))).toEqual([]);
    expect(alerts.length).toBeGreaterThan(8);
  },
);

test.skipIf(absent('promtool'))(
  'promtool finds nothing wrong with configuration, rules and metrics',
  async () => {
    const promtool = await find('promtool', PACKAGE);
    const { stdout } = await run(promtool, ['check', 'config', 'examples/prometheus/prometheus.yml']);
    expect(stdout).toMatch(/prometheus\.yml is valid[\s\S]*alerts\.yml\n {2}SUCCESS/);

    const headers = { authorization: 'Bearer token-for-prometheus' };
    const metrics = await (await fetch(`${server.url}/metrics`, { headers })).text();
    expect(metrics).toContain('picpool_images{');
    const checking = run(promtool, ['check', 'metrics']);
    checking.child.stdin?.end(metrics);
    expect(await checking).toMatchObject({ stdout: '', stderr: '' });
  },
);

test.skipIf(absent('prometheus'))(
  'a Prometheus with the configuration of the examples reads the server, and understands every question of rules and dashboard',
  async () => {
    const port = await freePort();
    const config = (await readExample('prometheus/prometheus.yml'))
      .replace('localhost:3000', new URL(server.url).host)
      .replace('scrape_interval: 15s', 'scrape_interval: 1s')
      .replace(/^( *)# (authorization:)\n( *)# ( *credentials_file: ).*$/m, '$1$2\n$3$4token')
      .concat('global:\n  evaluation_interval: 100ms\n');
    await writeFile(join(folder, 'prometheus.yml'), config);
    await writeFile(join(folder, 'token'), 'token-for-prometheus');
    await copyFile('examples/prometheus/alerts.yml', join(folder, 'alerts.yml'));
    const child = spawn(
      await find('prometheus', PACKAGE),
      [
        `--config.file=${folder}/prometheus.yml`,
        `--storage.tsdb.path=${folder}/data`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: 'ignore' },
    );
    const exited = once(child, 'exit');
    const ask = async (path: string) =>
      (await json<Answer>(await fetch(`http://127.0.0.1:${port}/api/v1/${path}`))).data;
    const query = (expression: string) => ask(`query?query=${encodeURIComponent(expression)}`);
    const rules = async () => (await ask('rules'))?.groups.flatMap((group) => group.rules) ?? [];
    try {
      await until(() =>
        query('picpool_images').then(
          (data) => data?.result.length === 1,
          () => false,
        ),
      );
      // A busy machine may answer a scrape too late, and the next one in time.
      await until(
        async () => (await ask('targets'))?.activeTargets.every(({ health }) => health === 'up') ?? false,
      );
      expect((await ask('targets'))?.activeTargets).toMatchObject([{ labels: { job: 'picpool' } }]);
      await until(async () => (await rules()).every(({ health }) => health !== 'unknown'));
      expect((await rules()).filter(({ health }) => health !== 'ok')).toEqual([]);

      const dashboard = await readExample('grafana/picpool.json');
      const expressions = [...dashboard.matchAll(/"expr": ("(?:[^"\\]|\\.)*")/g)].map(
        ([, text = '']) => JSON.parse(text) as string,
      );
      expect(expressions.length).toBeGreaterThan(25);
      const answers = await Promise.all(
        expressions.map((one) => query(one.replaceAll('$__rate_interval', '1m'))),
      );
      expect(expressions.filter((_, index) => answers[index] === undefined)).toEqual([]);
    } finally {
      child.kill('SIGTERM');
      await exited;
    }
  },
  180_000,
);
