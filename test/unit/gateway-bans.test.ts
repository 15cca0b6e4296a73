import { describe, expect, test } from 'bun:test';
import { connect, createServer } from 'node:net';
import type { Failure, Upstream } from '../../src/gateway/upstream.ts';
import { createBans } from '../../src/proxy/targets/bans.ts';
import { bunTcp } from '../../src/runtime/bun-tcp.ts';
import { type Answer, ask, askSecurely, startBanningSite } from '../support/gateway/banning-site.ts';
import { startBareGateway } from '../support/gateway/bare.ts';
import { listening } from '../support/servers/listening.ts';
import { afterEachTest } from '../support/shared.ts';

const MINUTE = 60_000;
const closers = afterEachTest();

async function startWorld(
  count: number,
  statusFor: (exit: string, path: string) => number,
  options: Partial<Parameters<typeof startBareGateway>[0]> = {},
) {
  const site = await startBanningSite(count, statusFor);
  const gateway = await startBareGateway({ tcp: bunTcp, proxies: site.proxies, ...options });
  closers.push(() => gateway.stop(), site.close);
  return { site, gateway };
}

const isOdd = (exit: string) => Number(exit.split('.')[3]) % 2 === 1;
const half = (exit: string) => (isOdd(exit) ? 403 : 200);
const operator = { id: '127.0.0.1', speaksForAll: true };
const site = 'shop.example';
const shareOf = (answers: readonly Answer[]) =>
  answers.filter(({ status }) => status === 200).length / answers.length;

describe('a site that has banned half of 60 exits', () => {
  test('is reached over plain http without reports', async () => {
    const world = await startWorld(60, half);
    const answers: Answer[] = [];
    for (let n = 0; n < 300; n++) answers.push(await ask(world));
    expect(shareOf(answers.slice(-100))).toBeGreaterThanOrEqual(0.95);
  }, 60_000);

  test('is reached over https if its clients report each ban', async () => {
    const world = await startWorld(60, half);
    const answers: Answer[] = [];
    for (let n = 0; n < 300; n++) {
      const answer = await askSecurely(world);
      answers.push(answer);
      if (answer.status === 403) world.gateway.report(operator, { exit: answer.exit, site, ok: false });
    }
    expect(shareOf(answers.slice(-100))).toBeGreaterThanOrEqual(0.95);
  }, 60_000);
});

describe('over plain http', () => {
  test('what three exits are refused is delivered as the answer of the site, and shuts nobody out', async () => {
    const world = await startWorld(12, (exit, path) => (path === '/private' ? 403 : half(exit)));
    expect((await ask(world, { path: '/private' })).status).toBe(403);
    expect(new Set(world.site.seen).size).toBe(3);
    expect(world.gateway.engine.bans.count()).toBe(0);
  });

  test('only methods that change nothing are repeated', async () => {
    const world = await startWorld(12, () => 429);
    expect((await ask(world, { method: 'POST' })).status).toBe(429);
    expect(world.site.seen).toHaveLength(1);
  });

  test.each([
    [451, []],
    [502, ['server_error']],
  ])(
    'a session keeps an exit that gets %i, and has it checked if that may be its own and not the answer to all',
    async (status, why) => {
      const doubts: string[] = [];
      const limits = { onFailure: (_: Upstream, failure: Failure) => void doubts.push(failure) };
      const world = await startWorld(12, (_, path) => (path === '/' ? 200 : status), { limits });
      const user = 'user-session-a:x';
      const { exit } = await ask(world, { user });
      const before = world.site.seen.length;
      expect(await ask(world, { user, path: '/other' })).toMatchObject({ status, exit });
      expect([world.site.seen.slice(before), doubts]).toEqual([[exit], why]);
      expect(await ask(world, { user: 'user-session-new:x', path: '/other' })).toMatchObject({ status });
      expect(doubts).toEqual(why);
    },
  );

  test('each answer says which exit it was', async () => {
    const world = await startWorld(5, () => 200);
    const { exit, head } = await ask(world);
    expect(head).toContain(`X-Picpool-Exit: ${exit}`);
  });
});

describe('a report', () => {
  const failed = { site, ok: false } as const;
  const one = { id: 'one', speaksForAll: false };
  const two = { id: 'two', speaksForAll: false };

  test('counts for its account alone until another account says the same', async () => {
    const { gateway } = await startWorld(5, () => 200, { withTokens: true });
    const exit = '127.41.0.1';
    const isOut = (witness: typeof one) => gateway.engine.bans.at(witness, site)?.(exit) ?? false;
    expect(gateway.report(one, { ...failed, exit })).toMatchObject({ counted: true, for_all: false });
    expect([one, two, { id: 'three', speaksForAll: false }].map(isOut)).toEqual([true, false, false]);
    expect(gateway.report(two, { ...failed, exit })).toMatchObject({ counted: true, for_all: true });
    expect(isOut({ id: 'three', speaksForAll: false })).toBe(true);
    expect(gateway.engine.bans.at(one, 'other.example')?.(exit)).toBe(false);
  });

  test('moves its session, unless that is locked, and one about an exit that it has left does not count', async () => {
    const world = await startWorld(20, () => 200, { withTokens: true });
    const name = 'user-session-a:one';
    const { exit } = await ask(world, { user: name });
    expect(world.gateway.report(one, { ...failed, session: 'a', exit })).toMatchObject({ exit, moved: true });
    expect(world.gateway.report(one, { ...failed, session: 'a', exit })).toMatchObject({ counted: false });
    const next = await ask(world, { user: name });
    expect(next.exit).not.toBe(exit);
    expect(next.head).toContain('X-Picpool-Session: moved');
    expect(world.gateway.report(one, { ...failed, session: 'a', exit })).toMatchObject({ counted: false });
    expect(world.gateway.report(two, { ...failed, session: 'a' })).toMatchObject({ counted: false });
    await ask(world, { user: 'user-session-b-sesslock:one' });
    expect(world.gateway.report(one, { ...failed, session: 'b' })).toMatchObject({ moved: false });
  });

  test('shuts out an exit only while another one works', async () => {
    const world = await startWorld(2, () => 200);
    for (const exit of ['127.41.0.1', '127.41.0.2'])
      world.gateway.report(operator, { ...failed, exit, site: 'shop.example' });
    expect((await ask(world)).status).toBe(200);
  });

  test('of an exit that the gateway does not have does not count', async () => {
    const { gateway } = await startWorld(1, () => 200);
    expect(gateway.report(operator, { ...failed, exit: '192.0.2.1' })).toMatchObject({ counted: false });
    expect(gateway.report(operator, { ...failed, id: 7 })).toMatchObject({ counted: false });
  });
});

test('a handshake says nothing about the site', async () => {
  const world = await startWorld(5, () => 403);
  for (let n = 0; n < 5; n++) expect((await askSecurely(world)).status).toBe(403);
  expect(world.gateway.sites.knows(site)).toBe(false);
});

test('a refusal that was cut while other exits were tried is cut for the client, too, and at once', async () => {
  const cutOff = Promise.withResolvers<void>();
  const farm = createServer((socket) => {
    socket.on('error', () => {});
    if (socket.localAddress !== '127.41.0.1') return;
    socket.once('data', () => {
      socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\nno', () => {
        setImmediate(() => socket.resetAndDestroy());
        cutOff.resolve();
      });
    });
  });
  const port = await listening(farm, '0.0.0.0');
  const proxies = [`127.41.0.1:${port}`, `127.41.0.2:${port}`];
  const limits = { timeoutMs: 1_000 };
  const gateway = await startBareGateway({ tcp: bunTcp, proxies, limits });
  closers.push(
    () => gateway.stop(),
    () => farm.close(),
  );
  const client = connect(gateway.port, '127.0.0.1');
  let text = '';
  client.on('data', (bytes) => (text += bytes));
  client.write(`GET http://${site}/ HTTP/1.1\r\n\r\n`);
  const end = new Promise<string>((resolve) => {
    client.on('error', () => resolve('cut')).on('end', () => resolve('whole'));
  });
  await cutOff.promise;
  expect(await end).toBe('cut');
  expect(text).toStartWith('HTTP/1.1 403');
  await gateway.empty();
});

describe('a ban', () => {
  const user = { id: 'one', speaksForAll: false };

  test('lasts ten minutes, and twice as long each time up to a day, but not if several clients meet it', () => {
    let now = 0;
    const bans = createBans(() => now);
    const refused = () => bans.refused(user, site, 'exit').restMs / MINUTE;
    expect([refused(), refused()]).toEqual([10, 10]);
    now += 10 * MINUTE;
    expect(bans.at(user, site)?.('exit')).toBe(false);
    const rests = Array.from({ length: 9 }, () => {
      const rest = refused();
      now += rest * MINUTE;
      return rest;
    });
    expect(rests).toEqual([20, 40, 80, 160, 320, 640, 1280, 1440, 1440]);
    now += 1441 * MINUTE;
    expect(refused()).toBe(10);
  });

  test('lasts as long as its account asks, within a day, and ends with a success', () => {
    const bans = createBans(() => 0);
    expect(bans.refused(user, site, 'exit', 15 * MINUTE).restMs).toBe(15 * MINUTE);
    expect(bans.refused(user, site, 'exit', 1e12).restMs).toBe(1440 * MINUTE);
    expect(bans.count()).toBe(1);
    bans.accepted(user, site, 'exit');
    expect(bans.at(user, site)?.('exit') ?? false).toBe(false);
    expect(bans.count()).toBe(0);
  });

  test('of one account is not forgotten because another one reports without end', () => {
    const bans = createBans(() => 0);
    bans.refused(user, site, 'exit');
    for (let n = 0; n < 100_100; n++) bans.refused({ id: 'flood', speaksForAll: false }, site, `${n}`);
    expect(bans.at(user, site)?.('exit')).toBe(true);
    expect(bans.count()).toBeLessThanOrEqual(100_000);
  });
});
