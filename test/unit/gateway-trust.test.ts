import { expect, spyOn, test } from 'bun:test';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parseConfig } from '../../src/config.ts';
import type { Upstream } from '../../src/gateway/upstream.ts';
import { bunTcp } from '../../src/runtime/bun-tcp.ts';
import { startBanningSite } from '../support/gateway/banning-site.ts';
import { type BareOptions, startBareGateway } from '../support/gateway/bare.ts';
import { talk } from '../support/gateway/talk.ts';
import { listening, stopperOf } from '../support/servers/listening.ts';
import { afterEachTest } from '../support/shared.ts';
import { until } from '../support/stores/services.ts';

const closers = afterEachTest();

/** Resolves once it is closed, even by a reset. */
const closed = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve));

async function startWorld({
  statusFor = () => 200,
  ...options
}: Partial<BareOptions> & { statusFor?: (exit: string) => number } = {}) {
  const site = await startBanningSite(5, statusFor);
  const gateway = await startBareGateway({ tcp: bunTcp, proxies: site.proxies, ...options });
  closers.push(() => gateway.stop(), site.close);
  const open = (head: string, localAddress?: string): Socket => {
    const socket = connect({ port: gateway.port, host: '127.0.0.1', ...(localAddress && { localAddress }) });
    closers.push(() => socket.destroy());
    socket.on('error', () => {});
    socket.write(head);
    return socket;
  };
  const request = (method: string, body = '') =>
    `${method} http://a.example:${site.ports.http}/ HTTP/1.1\r\nProxy-Authorization: Basic ${btoa('a:token')}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
  const answer = async (method = 'GET', body = '') => (await talk(gateway, request(method, body))).text;
  /** Returns the status line, or nothing if the connection was cut. */
  const ask = async (...sent: Parameters<typeof answer>) => (await answer(...sent)).split('\r\n')[0] ?? '';
  return { gateway, site, open, answer, ask };
}

test('a gateway that cannot listen at another address goes on where it was', async () => {
  const { gateway, ask } = await startWorld();
  // Of documentation: no machine has it.
  await expect(gateway.move('192.0.2.1')).rejects.toThrow();
  expect(await ask()).toBe('HTTP/1.1 200 OK');
});

test('a quota covers all connections and both directions, and like a rate says until when it is used up', async () => {
  const rate = { capacity: 13, perSecond: 0.001 };
  const quota = { capacity: 100_000, perSecond: 1 };
  const { answer, ask } = await startWorld({ withTokens: true, verify: async (id) => ({ id, rate, quota }) });
  const body = 'x'.repeat(30_000);
  let served = 0;
  for (let n = 0; n < 12; n++) if ((await ask('POST', body)).includes('200')) served++;
  expect(served).toBeGreaterThan(1);
  expect(served).toBeLessThan(8);
  for (const name of ['quota', 'rate']) {
    const said = `503 The ${name} of this token is used up: --${name} of picpool token create\\.\r`;
    expect(await answer()).toMatch(new RegExp(`${said}[^]*\r\nRetry-After: [1-9]`));
  }
});

test('strangers from however many networks cannot take all connections, and give theirs back', async () => {
  const { gateway, open, ask } = await startWorld({ limits: { connections: 40 } });
  const others = Array.from({ length: 30 }, (_, n) => open('G', `127.0.1.${n + 1}`));
  const silent = Array.from({ length: 30 }, () => open('G', '127.0.0.9'));
  const left = () => [others, silent].map((some) => some.filter(({ destroyed }) => !destroyed).length);
  await until(() => (left()[0] ?? 0) + (left()[1] ?? 0) === 20);
  expect(left()[1]).toBeLessThanOrEqual(2);
  expect(await ask()).toBe('HTTP/1.1 200 OK');
  for (const socket of [...others, ...silent]) socket.destroy();
  await gateway.empty();
  const again = open('G', '127.0.0.9');
  await until(() => gateway.open() === 1);
  expect(again.destroyed).toBe(false);
});

test('a strict gateway says in its answer to CONNECT which exit it is', async () => {
  const { site, open } = await startWorld({ limits: { strict: true } });
  const socket = open(`CONNECT a.example:${site.ports.https} HTTP/1.1\r\n\r\n`);
  const [head] = (await once(socket, 'data')) as [Buffer];
  expect(head.toString()).toMatch(/^HTTP\/1\.1 200 [^\r]+\r\nX-Picpool-Exit: 127\.41\.0\.\d\r\n\r\n$/);
});

test('a connection with two users ends for the one whose token was revoked, and for nobody else', async () => {
  let revoked = false;
  const { gateway, site, open } = await startWorld({
    withTokens: true,
    verify: async (token) => (revoked && token === 'two' ? null : { id: token, rate: null, quota: null }),
  });
  const line = (token: string, close = 'keep-alive') =>
    `GET http://a.example:${site.ports.http}/ HTTP/1.1\r\nProxy-Authorization: Basic ${btoa(`a:${token}`)}\r\nConnection: ${close}\r\n\r\n`;
  const own = open(line('one'));
  await once(own, 'data');
  const shared = open(line('one'));
  await once(shared, 'data');
  shared.write(line('two'));
  await once(shared, 'data');
  revoked = true;
  await closed(shared);
  expect(own.destroyed).toBe(false);
  expect(gateway.open()).toBe(1);
});

test('a client that has only logged in over SOCKS is let go when its token is revoked', async () => {
  let revoked = false;
  const { open } = await startWorld({
    withTokens: true,
    verify: async (id) => (revoked ? null : { id, rate: null, quota: null }),
    // Nothing else ends it.
    monotonic: () => 0,
  });
  const socket = open('\x05\x01\x02\x01\x01u\x01x');
  for (let answer = ''; !answer.endsWith('\x01\x00'); ) answer += (await once(socket, 'data'))[0];
  revoked = true;
  await closed(socket);
});

test('a request that is sent once counts as answered only when the answer begins', async () => {
  const { gateway, ask } = await startWorld({ statusFor: () => 0, limits: { idleMs: 200 } });
  expect(await ask('POST')).toContain('502 The proxy failed');
  expect(gateway.journal.latest()).toMatchObject([{ outcome: 'no_answer', tries: 1 }]);
});

test('500 requests at once pass by default', async () => {
  const { ask } = await startWorld({ each: parseConfig({}).GATEWAY_CONNECTIONS });
  const answers = await Promise.all(Array.from({ length: 500 }, () => ask()));
  expect(answers.filter((line) => line === 'HTTP/1.1 200 OK')).toHaveLength(500);
});

/** A world in which exits have worked, and how that shows. */
async function startWarm(options: Partial<BareOptions> = {}) {
  const clock = { ahead: 0 };
  const world = await startWorld({ monotonic: () => performance.now() + clock.ahead, ...options });
  for (let n = 0; n < 20; n++) await world.ask();
  return { ...world, before: world.gateway.engine.exits(), clock };
}

/** A record of TLS with this body, filled up to 100 bytes. */
const record = (type: number, ...body: number[]) =>
  Buffer.concat([Buffer.from([type, 3, 3, 0, 100, ...body]), Buffer.alloc(100 - body.length)]);

test.each(['plain', 'tls', 'tickets alone'])(
  'an exit that cuts answers is left out, unless the site cuts all: %s',
  async (kind) => {
    const isTls = kind !== 'plain';
    const [size, waitedMs] = kind === 'tickets alone' ? [210, 5_000] : [105, 2_000];
    const stopped = new Set<string>();
    const asked: boolean[] = [];
    let waited = 0;
    const { gateway, site, open } = await startWorld({
      statusFor: (exit) => (stopped.has(exit) ? -200 : 200),
      monotonic: () => performance.now() + waited,
    });
    const tls = createServer((socket) => {
      const isCut = () => stopped.has(site.exitOf(socket.remotePort));
      const whole = Buffer.concat([record(23), record(23)]);
      const most = () => (!isCut() ? size : kind === 'tls' ? 99 : 105);
      const answers = [() => record(22, 2, 0, 0, 96, 3, 3), () => whole.subarray(0, most())];
      socket.on('data', () => socket.write(answers.shift()?.() ?? '')).on('error', () => {});
    });
    closers.push(stopperOf(tls));
    const port = await listening(tls);
    /** Asks, and leaves after a while without more. Returns whether the answer was whole. */
    async function isWhole(user = 'u'): Promise<boolean> {
      const login = `Proxy-Authorization: Basic ${btoa(`${user}:x`)}\r\n`;
      const next = async () => `${((await once(socket, 'data')) as [Buffer])[0].toString('latin1')}`;
      const [hello, ...rest] = [record(22, 1, 0, 0, 96), record(20), record(23)];
      const socket = open(
        isTls
          ? `CONNECT a.example:${port} HTTP/1.1\r\n${login}\r\n`
          : `GET http://a.example:${site.ports.http}/ HTTP/1.1\r\n${login}Connection: close\r\n\r\n`,
      );
      let answer = await next();
      if (isTls) {
        socket.write(hello);
        await next();
        socket.write(Buffer.concat(rest));
        answer = await next();
      }
      const isCut = isTls ? answer.length < size : answer.includes('Content-Length: 1000');
      asked.push(!isCut);
      if (isCut) waited += waitedMs;
      // What ends a tunnel politely still waits, unlike what resets it.
      if (isTls) socket.destroy();
      else socket.resetAndDestroy();
      await gateway.empty();
      return !isCut;
    }
    async function cutWith(number: number, requests: number): Promise<number> {
      stopped.clear();
      for (const proxy of site.proxies.slice(0, number)) stopped.add(proxy.replace(/:.*/, ''));
      let cut = 0;
      for (let n = 0; n < requests; n++) if (!(await isWhole())) cut++;
      return cut;
    }
    // While hardly any exit is known to work, two that cut are enough to blame the site.
    await cutWith(0, 20);
    expect(await cutWith(2, 40)).toBeLessThanOrEqual(6);
    waited += 60_000;
    expect(await cutWith(0, 40)).toBe(0);
    const before = gateway.engine.exits();
    expect(await cutWith(5, 20)).toBe(20);
    expect(gateway.engine.exits()).toEqual(before);
    expect(await cutWith(0, 1)).toBe(0);
    expect(await cutWith(2, 40)).toBeLessThanOrEqual(6);
    // A session keeps its exit after one cut, which may be bad luck.
    stopped.clear();
    expect(await isWhole('u-session-a')).toBe(true);
    stopped.add(gateway.journal.latest()[0]?.exit ?? '');
    const inSession: boolean[] = [];
    while (inSession.length < 4) inSession.push(await isWhole('u-session-a'));
    expect(inSession).toEqual([false, false, true, true]);
    const whole = asked.filter(Boolean).length;
    expect(gateway.meter.summary()).toMatchObject({ requests: asked.length, served: whole });
  },
);

test('an exit that swallows what is sent once is left out when two clients have given it up', async () => {
  const silent = new Set<string>();
  let waited = 0;
  const { gateway, site, open } = await startWorld({
    statusFor: (exit) => (silent.has(exit) ? 0 : 200),
    monotonic: () => performance.now() + waited,
  });
  const head = `POST http://a.example:${site.ports.http}/ HTTP/1.1\r\nContent-Length: 1\r\nConnection: close\r\n\r\n`;
  /** Returns whether no answer came. */
  async function isLost(): Promise<boolean> {
    const { length } = site.seen;
    const socket = open(`${head}x`).resume();
    const over = closed(socket);
    await until(() => site.seen.length > length);
    const isSilent = silent.has(site.seen[length] ?? '');
    if (isSilent) waited += 5_000;
    if (isSilent) socket.resetAndDestroy();
    await over;
    await gateway.empty();
    return isSilent;
  }
  for (let n = 0; n < 20; n++) await isLost();
  silent.add(site.seen[0] ?? '');
  let lost = 0;
  for (let n = 0; n < 40; n++) if (await isLost()) lost++;
  expect(lost).toBe(2);
});

/** A client of a site that has fallen silent within its answer, after so many bytes of it. */
async function startStill(kind: string, options: Parameters<typeof startWarm>[0] = {}, bytes = 0) {
  const world = await startWarm(options);
  const [begun, hello] = [Buffer.alloc(bytes), record(22, 2, 0, 0, 96, 3, 3)];
  const part = `HTTP/1.1 200 OK\r\nContent-Length: ${bytes + 9}\r\n\r\n${begun}x`;
  const [data, rest] = [record(23).subarray(0, 9), record(23).subarray(9)];
  const site = createServer({ allowHalfOpen: true }, (socket) => {
    const answers = kind === 'plain' ? [part] : [hello, Buffer.concat([begun, data]), rest];
    if (kind === 'silent') answers.splice(1);
    socket.on('data', () => socket.write(answers.shift() ?? '')).on('error', () => {});
  });
  const stop = stopperOf(site);
  closers.push(stop);
  const place = `a.example:${await listening(site)}`;
  const head = kind === 'plain' ? `GET http://${place}/` : `CONNECT ${place}`;
  const socket = world.open(`${head} HTTP/1.1\r\nProxy-Authorization: Basic ${btoa('a:token')}\r\n\r\n`);
  const sent = {
    plain: [],
    tls: [record(22, 1, 0, 0, 96), record(23)],
    handshake: [record(22, 1, 0, 0, 96)],
    silent: [record(22, 1, 0, 0, 96)],
  };
  for (const message of sent[kind as keyof typeof sent]) {
    await once(socket, 'data');
    socket.write(message);
  }
  await once(socket, 'data');
  return { ...world, socket, stop, place };
}

test.each(['plain', 'tls'])(
  'an exit that stands still within an answer rests while its client waits: %s',
  async (kind) => {
    const { gateway, before, clock } = await startStill(kind);
    clock.ahead += 10_000;
    await until(() => gateway.engine.exits().trusted < before.trusted);
  },
);

test('a client is let go, to try again, when its handshake has stood still for the time that it may take', async () => {
  const { gateway, socket, clock } = await startStill('handshake');
  clock.ahead += 10_000;
  await closed(socket);
  expect(gateway.meter.summary()).toMatchObject({ requests: 21, served: 20 });
});

test('an exit through which nothing comes is blamed once, although its client ends meanwhile', async () => {
  const blamed: string[] = [];
  const limits = { onFailure: ({ ip }: Upstream) => blamed.push(ip) };
  const { socket, clock, open, place } = await startStill('silent', { limits });
  socket.write(Buffer.concat([record(20), record(23)]));
  // Its own handshake stands still, and is looked at later.
  const other = open(`CONNECT ${place} HTTP/1.1\r\n\r\n`);
  await once(other, 'data');
  clock.ahead += 6_000;
  socket.end();
  other.write(record(22, 1, 0, 0, 96));
  await once(other, 'data');
  clock.ahead += 10_000;
  await closed(other);
  expect(new Set(blamed).size).toBe(blamed.length);
});

test('an exit is not blamed for the silence of a site whose protocol is not known', async () => {
  const arrived = Promise.withResolvers<unknown>();
  const site = createServer((socket) => socket.once('data', arrived.resolve).on('error', () => {}));
  closers.push(stopperOf(site));
  let blamed = 0;
  const { gateway, clock, open } = await startWarm({ limits: { onFailure: () => void blamed++ } });
  const socket = open(`CONNECT a.example:${await listening(site)} HTTP/1.1\r\n\r\n`);
  await once(socket, 'data');
  socket.write('x'.repeat(200));
  await arrived.promise;
  clock.ahead += 6_000;
  socket.resetAndDestroy();
  await gateway.empty();
  expect(blamed).toBe(0);
});

test.each([
  ['between two events', 'GET', '\r\n', {}],
  [
    'before it has sent the rest of its request',
    'POST',
    'Content-Length: 2\r\n\r\n1',
    { 'content-length': 2 },
  ],
])('a client that waits and leaves %s has not been cut off', async (_, method, rest, length) => {
  const { gateway, open, before, clock } = await startWarm();
  const site = createHttpServer((_, response) => response.writeHead(200, length).write('1'));
  closers.push(stopperOf(site));
  const socket = open(`${method} http://a.example:${await listening(site)}/ HTTP/1.1\r\n${rest}`);
  for (let text = ''; !/\r\n1/.test(text); ) text += (await once(socket, 'data'))[0];
  clock.ahead += 10_000;
  // The gateway looks after its answers once a second, but not right after it has stood still itself.
  await pause(2_100);
  socket.resetAndDestroy();
  await gateway.empty();
  expect(gateway.engine.exits()).toEqual(before);
});

test('answers that a site breaks off all at once count against it, although it delivers others meanwhile', async () => {
  const { gateway, open, before } = await startWarm();
  const site = createHttpServer((request, response) => {
    if (request.method === 'HEAD') response.end();
    else response.writeHead(200, { 'content-length': 9 }).write('x');
  });
  closers.push(stopperOf(site));
  const port = await listening(site);
  const get = async (method: string) => {
    const socket = open(`${method} http://a.example:${port}/ HTTP/1.1\r\nConnection: close\r\n\r\n`);
    await once(socket, 'data');
    return socket;
  };
  for (let n = 0; n < 4; n++) await get('GET');
  await closed(await get('HEAD'));
  site.closeAllConnections();
  await gateway.empty();
  expect(gateway.engine.exits()).toEqual(before);
});

test('an answer that stands still for a while, and then goes on, has not been cut off', async () => {
  const { gateway, socket, before, clock } = await startStill('tls');
  clock.ahead += 5_000;
  // The gateway looks after its tunnels once a second.
  await pause(1_100);
  socket.write('x');
  await once(socket, 'data');
  socket.resetAndDestroy();
  await gateway.empty();
  expect(gateway.engine.exits()).toEqual(before);
});

test.each(['plain', 'tls'])(
  'a site that gives up a client that does not read says nothing about the exit: %s',
  async (kind) => {
    const { gateway, socket, before, clock, stop } = await startStill(kind, {}, 20_000_000);
    socket.pause();
    const { mock } = spyOn(gateway.meter, 'bytes');
    // Until the system takes no more.
    await until(async () => {
      const { length } = mock.calls;
      await pause(500);
      return mock.calls.length === length;
    });
    clock.ahead += 60_000;
    stop();
    socket.resume();
    await gateway.empty();
    expect(gateway.engine.exits()).toEqual(before);
  },
);

test('handshakes have not failed while the gateway itself stands still', async () => {
  const { gateway, open, before, clock } = await startWarm();
  const tls = createServer((socket) => {
    socket.once('data', () => socket.write(record(22, 2, 0, 0, 96, 3, 3)));
    setTimeout(() => socket.write('x'), 1_500);
  });
  closers.push(stopperOf(tls));
  const port = await listening(tls);
  const begin = async () => {
    const socket = open(`CONNECT a.example:${port} HTTP/1.1\r\n\r\n`);
    await once(socket, 'data');
    socket.write(record(22, 1, 0, 0, 96));
    await once(socket, 'data');
    return once(socket, 'data');
  };
  const answers = Array.from({ length: 20 }, begin);
  await pause(500);
  clock.ahead += 4_000;
  Bun.sleepSync(1_600);
  await Promise.all(answers);
  expect(gateway.engine.exits()).toEqual(before);
});

const ENDS = ['plain', 'tls'].flatMap((kind) => ['stopped', 'revoked'].map((why) => [kind, why] as const));

test.each(ENDS)('no answer was cut off because the gateway itself ends it: %s, %s', async (kind, why) => {
  let revoked = false;
  const { gateway, socket, before, clock } = await startStill(kind, {
    withTokens: true,
    verify: async (id) => (revoked ? null : { id, rate: null, quota: null }),
  });
  // It still waits for the rest.
  if (why === 'revoked') socket.end();
  await pause(100);
  clock.ahead += 3_000;
  revoked = why === 'revoked';
  if (why === 'stopped') gateway.stop();
  await gateway.empty();
  expect(gateway.engine.exits()).toEqual(before);
});
