import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { absent } from '../support/absent.ts';
import { type RefreshWorld, startRefreshWorld } from '../support/farm/refresh-world.ts';
import { photo } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { type FaultProxy, startFaultProxy } from '../support/servers/fault-proxy.ts';
import { type Copy, type Fleet, startFleet } from '../support/servers/fleet.ts';
import { PNG } from '../support/servers/running-server.ts';
import { jobAfter } from '../support/servers/takeover.ts';
import { withPrefix } from '../support/stores/redis.ts';
import { S3_ACCESS, type Service, startRedis, startS3, until } from '../support/stores/services.ts';

/** What every copy must have answered by. */
const LIMIT_MS = 30_000;

interface Stored {
  id: string;
  path: string;
}

describe.skipIf(absent('nginx', 'redis-server', 'versitygw'))('while a part is away', () => {
  let redis: Service;
  let s3: Service & { endpoint: string };
  let proxy: FaultProxy;
  let world: RefreshWorld;
  let fleet: Fleet;
  const kept: Stored[] = [];

  beforeAll(async () => {
    [redis, s3, world] = await Promise.all([startRedis(), startS3(), startRefreshWorld({ silent: 4 })]);
    proxy = await startFaultProxy(s3.endpoint);
    fleet = await startFleet(['bun', 'deno'], (incarnation) => ({
      METADATA_URL: redis.url,
      BLOBS_URL: `s3://bucket?endpoint=${proxy.url}&path_style=true`,
      ...S3_ACCESS,
      ...world.envOf(incarnation),
    }));
    await fleet.send('/api/refresh', { method: 'POST' });
    await everywhere(async (to) => (await poolAt(to)).length === 30);
  }, 180_000);

  afterAll(async () => {
    await fleet?.stop();
    await proxy?.stop();
    await Promise.all([world?.stop(), redis?.stop(), s3?.stop()]);
  });

  const everywhere = (holds: (to: Copy) => Promise<boolean>) =>
    until(async () => (await Promise.all(fleet.copies.map(holds))).every(Boolean));
  const isReady = async (to: Copy) => {
    const answer = await fleet.send('/readyz', { to });
    const { degraded = [] } = await json<{ degraded?: string[] }>(answer);
    // Since Redis was emptied there are doubts about the files, which is another matter.
    return answer.status === 200 && !degraded.some((fault) => / (answer|written)\.$/.test(fault));
  };

  /** Every copy stays in the balancer, for it serves something, and says what it does not. */
  const expectDegraded = (fault: string) =>
    everywhere(async (to) => {
      const answer = await fleet.send('/readyz', { to });
      expect(answer.status).toBe(200);
      const { degraded = [] } = await json<{ degraded?: string[] }>(answer);
      return degraded.some((text) => text.startsWith(fault));
    });

  async function poolAt(to: Copy): Promise<unknown[]> {
    const answer = await fleet.send('/api/v1/proxies?limit=500', { to });
    return (await json<{ proxies: unknown[] }>(answer)).proxies;
  }

  async function upload(to: Copy): Promise<Response> {
    const answer = await fleet.send('/api/upload?format=png', { method: 'POST', body: PNG, to });
    if (answer.status === 201) {
      const { id, raw_url } = await json<{ id: string; raw_url: string }>(answer.clone() as Response);
      kept.push({ id, path: new URL(raw_url).pathname });
    }
    return answer;
  }

  /** Every copy answers 503 in the envelope, in time; answers what they said. */
  async function expectUnavailable(ask: (to: Copy) => Promise<Response>): Promise<string[]> {
    const startedAt = performance.now();
    const said = fleet.copies.map(async (to) => {
      const answer = await ask(to);
      const body = await answer.text();
      expect([answer.status, answer.headers.get('retry-after'), body]).toEqual([
        503,
        expect.stringMatching(/^\d+$/),
        expect.stringContaining('"code":"unavailable"'),
      ]);
      return (JSON.parse(body) as { error: string }).error;
    });
    const sentences = await Promise.all(said);
    expect(performance.now() - startedAt).toBeLessThan(LIMIT_MS);
    return sentences;
  }

  /** What was acknowledged before, meanwhile or after is there, at every copy. */
  async function expectNothingLost(): Promise<void> {
    for (const { path } of kept) {
      const answers = fleet.copies.map(async (to) => (await fleet.send(path, { to })).status);
      expect(await Promise.all(answers)).toEqual(fleet.copies.map(() => 200));
    }
  }

  const get = (path: string) => (to: Copy) => fleet.send(path, { to });

  test('Redis for ten seconds: 503 in time, the pool goes on, and all recovers by itself', async () => {
    for (const to of fleet.copies) expect((await upload(to)).status).toBe(201);
    const before = await Promise.all(fleet.copies.map(poolAt));
    const follows = await beginRefresh();
    await redis.kill();
    const stopped = performance.now();
    const [image] = kept;
    while (performance.now() - stopped < 10_000) {
      await expectDegraded('The record store cannot be read.');
      await expectUnavailable(upload);
      await expectUnavailable(get('/api/list'));
      await expectUnavailable(get(`/api/info/${image?.id}`));
      await expectUnavailable(get('/api/status'));
      await expectUnavailable((to) => fleet.send(`/api/delete/${image?.id}`, { method: 'DELETE', to }));
      await expectUnavailable((to) => fleet.send('/api/refresh', { method: 'POST', to }));
      const startedAt = performance.now();
      expect(await Promise.all(fleet.copies.map(poolAt))).toEqual(before);
      expect((await fleet.send('/api/export')).status).toBe(200);
      expect(performance.now() - startedAt).toBeLessThan(LIMIT_MS);
    }
    await redis.start();
    await everywhere(isReady);
    await expectNothingLost();
    expect(await Promise.all(fleet.copies.map(poolAt))).toEqual(before);
    for (const to of fleet.copies) expect((await upload(to)).status).toBe(201);
    await follows();
  }, 180_000);

  /** Starts a refresh on other copies, and returns a function that waits until the next one has ended. */
  async function beginRefresh(): Promise<() => Promise<void>> {
    const lists = await startRefreshWorld({ silent: 20 });
    const own = { METADATA_URL: withPrefix(redis.url), PROXY_REFRESH_INTERVAL: '60s', SERVICES: 'proxy' };
    const others = await startFleet(['bun', 'bun'], (incarnation) => ({
      ...own,
      ...lists.envOf(incarnation),
    }));
    const answer = await others.send('/api/refresh', { method: 'POST' });
    const { job } = await json<{ job: { id: string } }>(answer);
    await until(async () => lists.seen.length > 0);
    return async () => {
      expect(await jobAfter(others.copies[0], job.id)).toMatchObject({ state: 'done' });
      const seen = lists.seen.map(({ incarnation }) => incarnation);
      // Never back to the first once the second has begun.
      expect(seen.filter((one, index) => one !== seen[index - 1]).length).toBeLessThanOrEqual(2);
      await others.stop();
      await lists.stop();
    };
  }

  // What else a server may answer that cannot, see s3-faults.test.ts.
  test('an S3 server that answers nothing: 503 in time, records and pool go on, and it recovers', async () => {
    for (const to of fleet.copies) expect((await upload(to)).status).toBe(201);
    const fresh = kept.slice(-fleet.copies.length);
    proxy.fault = () => 'silence';
    try {
      const ofTheOther = (to: Copy) => fresh[fleet.copies.indexOf(to) === 0 ? 1 : 0]?.path ?? '';
      await Promise.all([
        expectDegraded('The image store cannot be read.'),
        expectUnavailable(upload),
        expectUnavailable((to) => fleet.send(ofTheOther(to), { to })),
      ]);
      expect((await fleet.send('/api/list')).status).toBe(200);
      expect((await fleet.send('/api/v1/proxies')).status).toBe(200);
    } finally {
      proxy.fault = () => null;
    }
    await everywhere(isReady);
    await expectNothingLost();
  }, 180_000);

  test('an S3 server that cuts bodies: no short file passes as a whole one, and the server recovers', async () => {
    const picture = await photo(800, 600);
    const answer = await fleet.send('/api/upload?format=jpeg', { method: 'POST', body: picture });
    expect(answer.status).toBe(201);
    const { raw_url, size } = await json<{ raw_url: string; size: number }>(answer);
    const { pathname } = new URL(raw_url);
    proxy.fault = () => ({ cutAfterBytes: 5000 });
    try {
      const startedAt = performance.now();
      const read = fleet.copies.map(async (to) => {
        const one = await fleet.send(pathname, { to });
        return one.ok ? (await one.bytes()).length : one.status;
      });
      const ends = await Promise.all(read.map((one) => one.catch(() => 'cut')));
      for (const end of ends) expect([503, 'cut']).toContain(end);
      expect(performance.now() - startedAt).toBeLessThan(LIMIT_MS);
    } finally {
      proxy.fault = () => null;
    }
    const whole = fleet.copies.map(async (to) => (await (await fleet.send(pathname, { to })).bytes()).length);
    expect(await Promise.all(whole)).toEqual(fleet.copies.map(() => size));
  }, 180_000);
});
