import { describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { Relay } from '../../src/gateway/relay.ts';
import { bunTcp } from '../../src/runtime/bun-tcp.ts';
import { nodeTcp } from '../../src/runtime/node-tcp.ts';
import { startBareGateway } from '../support/gateway/bare.ts';
import { beRude, RUDE, untilEmpty } from '../support/gateway/rude-clients.ts';
import { silent } from '../support/gateway/silent.ts';
import { talk } from '../support/gateway/talk.ts';
import { listening } from '../support/servers/listening.ts';
import { afterEachTest } from '../support/shared.ts';
import { until } from '../support/stores/services.ts';

const SECOND = 1_000;
const TARGET = 'a.example:80';

const closers = afterEachTest();

/** A proxy that says yes to CONNECT, and answers requests with what it is given. */
async function startProxy(answer: string | null, end: 'stay' | 'end' | 'reset' = 'stay'): Promise<string> {
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    let text = '';
    socket.on('error', () => {});
    socket.on('end', () => socket.end());
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      if (text.startsWith('CONNECT')) {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        return;
      }
      for (let head = text.indexOf('\r\n\r\n'); head >= 0; head = text.indexOf('\r\n\r\n')) {
        text = text.slice(head + 4);
        if (answer === null) continue;
        socket.write(answer, () => {
          if (end === 'end') socket.end();
          if (end === 'reset') setTimeout(() => socket.resetAndDestroy(), 50);
        });
      }
    });
  });
  closers.push(() => server.close());
  return `127.0.0.1:${await listening(server)}`;
}

const get = (n: number, more = '') => `GET http://${TARGET}/${n} HTTP/1.1\r\nHost: ${TARGET}\r\n${more}\r\n`;
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

test('a tunnel is over once its client is gone, even if that had ended its half and has not read all', () => {
  const [client, upstream] = [silent({ write: () => false }), silent()];
  const ends: string[] = [];
  const onEnd = (by: string) => void ends.push(by);
  new Relay({ client, upstream, monotonic: () => 0, onLook() {}, onBytes: () => true, onEnd });
  upstream.listener.received(Buffer.from('more than it reads'));
  client.listener.ended();
  client.listener.closed(null);
  expect(ends).toEqual(['client']);
});

test('bytes that use up a quota, and so end the tunnel, count as news from the upstream', () => {
  const upstream = silent();
  const onEnd = () => expect(relay.cameAt).toBe(60_000);
  const relay = new Relay({
    client: silent(),
    upstream,
    monotonic: () => 60_000,
    onLook() {},
    onBytes: () => false,
    onEnd,
  });
  upstream.listener.received(Buffer.from('half a record'));
  expect.assertions(1);
});

describe.each([
  ['Bun', bunTcp],
  ['node:net', nodeTcp],
] as const)('with the sockets of %s', (_, tcp) => {
  type Limits = { connections?: number; idleMs?: number; strict?: boolean };
  async function start(proxy: string, limits: Limits = {}, each?: number) {
    const gateway = await startBareGateway({ tcp, proxies: [proxy], limits, ...(each && { each }) });
    closers.push(() => gateway.stop());
    return gateway;
  }

  test('a tunnel in which the target speaks first, or the client late, carries both ways until both have ended', async () => {
    const dialled = Promise.withResolvers<void>();
    const proxy = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => {});
      socket.once('data', (head: Buffer) => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n', () => dialled.resolve());
        if (head.includes('greeter')) socket.write('220 welcome\r\n');
        socket.on('data', (bytes) => socket.write(`echo ${bytes}`));
        socket.on('end', () => socket.end('bye'));
      });
    });
    closers.push(() => proxy.close());
    const place = `127.0.0.1:${await listening(proxy)}`;
    const gateway = await start(place);
    const talk = (host: string, hear: RegExp, say: string, { port } = gateway) =>
      new Promise<string>((resolve) => {
        const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
        let text = '';
        socket.write(`CONNECT ${host} HTTP/1.1\r\n\r\n`);
        socket.on('data', async (bytes: Buffer) => {
          text += bytes;
          if (!hear.test(text) || say === '') return;
          await dialled.promise;
          socket.end(say);
          say = '';
        });
        socket.on('end', () => resolve(text.split('\r\n\r\n')[1] ?? ''));
      });
    expect(await talk('late.example:5000', /200/, 'HELO')).toBe('echo HELObye');
    expect(await talk('greeter.example:5000', /welcome/, 'HELO')).toBe('220 welcome\r\necho HELObye');
    const strict = await start(place, { strict: true });
    expect(await talk('greeter.example:443', /welcome/, 'HELO', strict)).toBe('220 welcome\r\necho HELObye');
  });

  test('one that is to end waits for an answer that somebody waits for, but for no further request', async () => {
    const proxy = createServer();
    closers.push(() => proxy.close());
    const gateway = await start(`127.0.0.1:${await listening(proxy)}`);
    const answer = talk(gateway, get(1));
    const [upstream] = await once(proxy, 'connection');
    const idle = talk(gateway, 'GET ');
    await until(async () => gateway.open() === 2);
    const ended = gateway.drain().then(() => gateway.stop());
    expect(await idle).toEqual({ text: '', end: 'FIN' });
    upstream.write(OK);
    expect((await answer).text).toMatch(/Connection: close[\s\S]*ok$/);
    await ended;
  });

  test.each([
    ['GET', ' 503 '],
    ['POST', ' 502 '],
  ])('one that stops tells a client that waits for an answer to %s', async (method, status) => {
    const proxy = createServer();
    closers.push(() => proxy.close());
    const gateway = await start(`127.0.0.1:${await listening(proxy)}`);
    const answer = talk(gateway, get(1).replace('GET', method));
    const [upstream] = await once(proxy, 'connection');
    await once(upstream, 'data');
    gateway.stop();
    expect(await answer).toEqual({ text: expect.stringContaining(status), end: 'FIN' });
  });

  test('connections over the limit leave nothing behind', async () => {
    const gateway = await start(await startProxy(OK), { connections: 10 });
    for (let round = 0; round < 3; round++) {
      const sockets = Array.from({ length: 12 }, () => connect(gateway.port, '127.0.0.1'));
      const gone = sockets.map(
        (socket) => new Promise<void>((resolve) => socket.on('error', () => {}).on('close', () => resolve())),
      );
      // Half of the places are for strangers, of whom the latest stay.
      await until(() => sockets.filter(({ destroyed }) => destroyed).length === 7);
      for (const socket of sockets) socket.destroy();
      await Promise.all(gone);
      await untilEmpty(gateway);
    }
    expect((await talk(gateway, get(1, 'Connection: close\r\n'))).text).toEndWith('ok');
  });

  test.each(Object.entries(RUDE))(
    'a client that leaves after %s gives back its place at once',
    async (_name, bytes) => {
      const gateway = await start(await startProxy(null), {}, 10);
      for (const how of ['end', 'reset'] as const) {
        await Promise.all(Array.from({ length: 10 }, () => beRude(gateway.port, bytes(TARGET), how)));
        await untilEmpty(gateway);
      }
    },
  );

  test('a client that reads the last of an answer very slowly still gets all of it', async () => {
    let passed = 0;
    const body = 'x'.repeat(1_000_000);
    const gateway = await startBareGateway({
      tcp,
      proxies: [await startProxy(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`)],
      monotonic: () => performance.now() + passed,
    });
    closers.push(() => gateway.stop());
    const socket = connect(gateway.port, '127.0.0.1').pause();
    socket.write(get(1, 'Connection: close\r\n'));
    // The journal has it as soon as the answer begins.
    await until(() => gateway.journal.latest().length > 0 && gateway.carriers.size === 0);
    passed = 600_000;
    await gateway.empty();
    let text = '';
    for await (const bytes of socket) text += bytes;
    expect(text).toEndWith(body);
  });

  test('what a client sends ahead of the answer has to wait, also once the proxy has read its body', async () => {
    const size = 4_000_000;
    const { promise: asked, resolve: onAsked } = Promise.withResolvers<Socket>();
    const proxy = createServer((socket) => onAsked(socket.on('error', () => {}).pause()));
    closers.push(() => proxy.close());
    const gateway = await start(`127.0.0.1:${await listening(proxy)}`);
    const client = connect(gateway.port, '127.0.0.1').on('error', () => {});
    const head = `POST http://${TARGET}/ HTTP/1.1\r\nHost: ${TARGET}\r\nContent-Length: ${size}\r\n\r\n`;
    const more = Buffer.alloc(1_000_000, 'y');
    let sent = 0;
    const send = () => {
      while (sent < 60 && client.write(more)) sent++;
      client.once('drain', send);
    };
    client.write(head + 'x'.repeat(size), send);
    const reading = await asked;
    let received = 0;
    reading.on('data', (bytes: Buffer) => (received += bytes.length)).resume();
    await until(() => received > size);
    // Time for far more than 60 MB.
    await Bun.sleep(SECOND);
    expect(sent).toBeLessThan(30);
    for (const socket of [client, reading]) socket.destroy();
    await untilEmpty(gateway);
  });

  test('answers that a client does not read are not asked for ahead, and it gets all once it reads', async () => {
    const [asked, size] = [2_000, 30_000];
    const answer = `HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n${'x'.repeat(size)}`;
    const gateway = await start(await startProxy(answer));
    const client = connect(gateway.port, '127.0.0.1').pause();
    client.write(get(1).repeat(asked - 1) + get(1, 'Connection: close\r\n'));
    // Time for all of them.
    await Bun.sleep(2 * SECOND);
    expect(gateway.meter.summary().served).toBeLessThan(asked / 2);
    let received = 0;
    for await (const bytes of client) received += bytes.length;
    expect(received).toBeGreaterThan(asked * size);
  }, 30_000);

  test("a client's faults do not count against a proxy", async () => {
    const gateway = await start(await startProxy(OK));
    await talk(gateway, get(1, 'Connection: close\r\n'));
    const broken = `POST http://${TARGET}/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`;
    for (let n = 0; n < 8; n++) expect((await talk(gateway, broken)).text).toStartWith('HTTP/1.1 400');
    const lane = gateway.engine.laneOf('plain', { id: '127.0.0.1', speaksForAll: true });
    expect([...gateway.engine.upstreams('plain')].map((upstream) => lane.trusts(upstream))).toEqual([true]);
  });
});
