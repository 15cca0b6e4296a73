import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createMetrics } from '../../src/lib/metrics.ts';
import { instrumentStores } from '../../src/start/operations.ts';
import { ADMIN, ADMIN_TOKEN } from '../support/admin.ts';
import { PNG, type RunningServer, runServer, withServer } from '../support/servers/running-server.ts';
import { until } from '../support/stores/services.ts';

let server: RunningServer;
let output: string;
beforeAll(async () => {
  server = await runServer({
    RATE_LIMITS: 'report=1/1h,upload=3/1h',
    ADMIN_TOKEN: ADMIN_TOKEN,
    PROXY_ALLOW_PRIVATE: 'true',
    WEBHOOK_URLS: 'http://127.0.0.1:9/',
    WEBHOOK_SECRET: 'a-secret-of-the-webhooks',
    GATEWAY_PORT: '0',
    PROXY_JUDGES: 'http://127.0.0.1:9/,http://127.0.0.1:9/another',
  });
  const { send, post, upload } = server;
  await upload();
  await send('/api/upload', { method: 'POST', body: PNG.subarray(0, 60) });
  // Of two files, the first is counted with the request, and the second is refused.
  const form = new FormData();
  for (const name of ['a.png', 'b.png']) form.append('image', new File([PNG], name));
  await send('/api/upload', { method: 'POST', body: form });
  await send('/api/v1/proxies');
  await send('/api/v1/proxies');
  await send('/api/proxy/77');
  await send('/no/such/path');
  const tested = { ip: '127.0.0.1', port: 10, protocol: 'http' };
  await post('/api/test_proxy_quick', tested, ADMIN);
  // Tests by strangers are counted nowhere.
  await post('/api/test_proxy_quick', tested);
  await post('/api/proxy/1/report', { ok: true });
  await post('/api/proxy/1/report', { ok: true });
  await send('/api/refresh', { method: 'POST', headers: ADMIN });
  await until(() => server.logged.some(({ message }) => message === 'refresh ended'));
  output = await (await send('/metrics')).text();
});
afterAll(() => server.stop());

/** The value of a line, by its beginning. */
function numberOf(line: string): number {
  const found = output.split('\n').find((one) => one.startsWith(`${line} `));
  if (!found) throw new Error(`no line ${line} in ${output}`);
  return Number(found.slice(line.length + 1));
}

const requests = (route: string, method: string, status: number) =>
  numberOf(
    `picpool_http_request_duration_seconds_count{route="${route}",method="${method}",status="${status}"}`,
  );

describe('the numbers', () => {
  test('count requests by the pattern of their route, never by what strangers wrote', () => {
    expect(requests('/api/v1/proxies', 'GET', 200)).toBe(2);
    expect(requests('/api/proxy/:id', 'GET', 404)).toBe(1);
    expect(requests('other', 'GET', 404)).toBe(1);
    expect(output).not.toContain('/no/such/path');
  });

  test('count what each part did', () => {
    expect(numberOf('picpool_conversion_duration_seconds_count{format="webp"}')).toBe(2);
    expect(numberOf('picpool_conversion_failures_total{code="undecodable_image"}')).toBe(1);
    expect(numberOf('picpool_images{format="webp"}')).toBe(2);
    expect(numberOf('picpool_limited_total{limit="report"}')).toBe(1);
    expect(numberOf('picpool_limited_total{limit="upload"}')).toBe(1);
    expect(numberOf('picpool_webhook_deliveries_total{outcome="failed"}')).toBe(0);
    expect(numberOf('picpool_checks_total{protocol="http",result="unknown"}')).toBe(1);
    expect(numberOf('picpool_refreshes_total{result="judge_down"}')).toBe(1);
    expect(numberOf('picpool_judge_up{judge="http://127.0.0.1:9"}')).toBe(0);
    expect(numberOf('picpool_refresh_stage_duration_seconds_count{stage="fetch"}')).toBe(1);
    expect(numberOf('picpool_disk_free_bytes')).toBeGreaterThan(0);
    expect(
      numberOf('picpool_store_call_duration_seconds_count{store="images",call="insert",outcome="ok"}'),
    ).toBe(2);
    expect(numberOf('process_resident_memory_bytes')).toBeGreaterThan(1e6);
  });

  test('have one type and one help each, and one line for the same labels, and buckets that only grow', () => {
    const series = [...output.matchAll(/^(?!#)(.+) \S+$/gm)].map(([, one]) => one);
    expect(new Set(series).size).toBe(series.length);
    const names = [...output.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name]) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(output.match(/^# HELP /gm)).toHaveLength(names.length);
    const buckets = [...output.matchAll(/^(picpool_\w+_bucket\{.*),?le="[^"]+"\} (\d+)$/gm)];
    expect(buckets.length).toBeGreaterThan(50);
    for (const [index, [, series, count]] of buckets.entries()) {
      const [, before, lower] = buckets[index - 1] ?? [];
      if (series === before) expect(Number(count)).toBeGreaterThanOrEqual(Number(lower));
    }
  });

  test('are for those alone who bring METRICS_TOKEN, where it is set', () =>
    withServer({ SERVICES: 'image', METRICS_TOKEN: 'token-for-prometheus' }, async ({ send }) => {
      expect((await send('/metrics')).status).toBe(401);
      expect(
        (await send('/metrics', { headers: { authorization: 'Bearer wrong-token-wrong' } })).status,
      ).toBe(401);
      const answer = await send('/metrics', { headers: { authorization: 'Bearer token-for-prometheus' } });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toContain('text/plain; version=0.0.4');
    }));
});

describe('the examples for operators', () => {
  /** Names that only a scrape makes. */
  const OF_PROMETHEUS = new Set(['up', 'job', 'time']);

  test.each(['examples/grafana/picpool.json', 'examples/prometheus/alerts.yml'])(
    'every number that %s speaks of is there',
    async (file) => {
      const text = await Bun.file(file).text();
      const names = new Set(text.match(/\b(picpool|process)_[a-z_]+(?=[\s{[)]|$|\\n|")/gm));
      expect(names.size).toBeGreaterThan(8);
      const missing = [...names].filter((name) => !OF_PROMETHEUS.has(name) && !hasName(name));
      expect(missing).toEqual([]);
    },
  );

  /** As a line, or as the declaration of what has not happened yet. */
  function hasName(name: string): boolean {
    const family = name.replace(/_(bucket|sum|count)$/, '');
    return new RegExp(`^(# TYPE ${family} |${name}[ {])`, 'm').test(output);
  }
});

test('a store that is watched answers and fails as before, and is measured', async () => {
  const metrics = createMetrics();
  const store = {
    get: async (id: string) => (id === '' ? Promise.reject(new Error('away')) : id),
    async *stream() {
      yield 1;
    },
    version: async () => '1',
  };
  const watched = instrumentStores(metrics, () => 0)('things', store);
  expect(await watched.get('a')).toBe('a');
  expect(watched.get('')).rejects.toThrow('away');
  expect(await Array.fromAsync(watched.stream())).toEqual([1]);
  expect(await watched.version()).toBe('1');
  const [family] = await metrics.collect();
  const counts = family?.samples.filter(({ name }) => name?.endsWith('_count'));
  expect(counts).toEqual([
    { name: 'picpool_store_call_duration_seconds_count', labels: ['things', 'get', 'ok'], value: 1 },
    { name: 'picpool_store_call_duration_seconds_count', labels: ['things', 'get', 'error'], value: 1 },
  ]);
});
