import { describe, expect, test } from 'bun:test';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { bunTcp } from '../../src/runtime/bun-tcp.ts';
import { nodeTcp } from '../../src/runtime/node-tcp.ts';
import { startBareGateway } from '../support/gateway/bare.ts';
import { listening } from '../support/servers/listening.ts';
import { afterEachTest } from '../support/shared.ts';

const SECOND = 1_000;
const IDLE_MS = 300 * SECOND;

const closers = afterEachTest();

/** A gateway before the proxy, with a clock of its own. */
async function startLooking(tcp: typeof bunTcp, proxy: string) {
  let now = 0;
  let onLook = () => {};
  const gateway = await startBareGateway({
    tcp,
    proxies: [proxy],
    limits: { idleMs: IDLE_MS },
    monotonic: () => now,
  });
  // It always moves, and makes the gateway look.
  gateway.carriers.add({
    get movedAt() {
      return now;
    },
    look: () => onLook(),
    cut() {},
  });
  closers.push(() => gateway.stop());
  return {
    gateway,
    /** Lets time pass, and waits until the gateway has looked. */
    async pass(ms: number) {
      now += ms;
      await new Promise<void>((resolve) => (onLook = resolve));
    },
  };
}

/** Listens on a free port, and returns the address. */
async function startServer(server: Server): Promise<string> {
  closers.push(() => server.close());
  return `127.0.0.1:${await listening(server)}`;
}

/** A proxy that answers with as many bytes as the path says, or through a tunnel with 1,500,000. */
async function startProxy(): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes: Buffer) => {
      const text = bytes.toString('latin1');
      const size = Number(/^GET \S+\/(\d+) /.exec(text)?.[1]);
      if (text.startsWith('CONNECT')) socket.write('HTTP/1.1 200 OK\r\n\r\n');
      else if (text === 'hello') socket.end(Buffer.alloc(1_500_000, 'x'));
      else socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n${'x'.repeat(size)}`);
    });
  });
  return startServer(server);
}

const get = (size: number, more = '') =>
  `GET http://a.example/${size} HTTP/1.1\r\nHost: a.example\r\n${more}\r\n`;
/** What clients ask for; the last one ends its half, and its answer is more than the system takes ahead. */
const ASKING = [
  { ask: get(1_500_000, 'Connection: close\r\n'), size: 1_500_000 },
  { ask: get(1_500_000), size: 1_500_000 },
  { ask: 'CONNECT a.example:5000 HTTP/1.1\r\nHost: a.example\r\n\r\n', inTunnel: 'hello', size: 1_500_000 },
  { ask: get(40_000_000), size: 40_000_000, half: true },
];

function startReader(port: number, { ask, inTunnel, size, half }: (typeof ASKING)[number]) {
  const socket: Socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  closers.push(() => socket.destroy());
  const begun = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  let got = 0;
  let toSay = inTunnel;
  let inHead = true;
  let isReading = false;
  socket.on('error', () => over.resolve());
  socket.on('end', () => over.resolve());
  socket.on('data', (bytes: Buffer) => {
    if (inHead) {
      inHead = false;
      got -= bytes.indexOf('\r\n\r\n') + 4;
    }
    got += bytes.length;
    if (got >= size) over.resolve();
    if (toSay !== undefined) {
      socket.write(toSay);
      toSay = undefined;
    } else if (!isReading) {
      socket.pause();
      begun.resolve();
    }
  });
  if (half) socket.end(ask);
  else socket.write(ask);
  return {
    /** Resolves at the first byte of the answer, of which nothing more is read. */
    begun: begun.promise,
    /** Reads the rest, and returns the number of bytes without the head. */
    async rest() {
      isReading = true;
      socket.resume();
      await over.promise;
      return got;
    },
  };
}

describe.each([
  ['Bun', bunTcp],
  ['node:net', nodeTcp],
] as const)('with the sockets of %s, a client that does not read', (_, tcp) => {
  /** All clients, each with an answer of which it has read the beginning, and a clock that makes the gateway look. */
  async function start() {
    const { gateway, pass } = await startLooking(tcp, await startProxy());
    const readers = ASKING.map((asking) => startReader(gateway.port, asking));
    await Promise.all(readers.map(({ begun }) => begun));
    // Two of the answers have come to their end; the tunnel, the endless one and the watch remain.
    while (gateway.carriers.size > 3) await Bun.sleep(10);
    return { gateway, readers, pass };
  }

  test('gets the whole answer if it reads on within the limit for what stands still', async () => {
    const { readers, pass } = await start();
    await pass(100 * SECOND);
    await pass(150 * SECOND);
    expect(await Promise.all(readers.map(({ rest }) => rest()))).toEqual(ASKING.map(({ size }) => size));
  });

  test('is left when that limit is over', async () => {
    const { gateway, pass } = await start();
    await pass(IDLE_MS + SECOND);
    await pass(IDLE_MS + SECOND);
    await gateway.empty();
  });
});

test('a tunnel whose client has gone is kept for a minute, although its proxy stays', async () => {
  const stays = createServer({ allowHalfOpen: true }, (socket) => {
    closers.push(() => socket.destroy());
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      socket.write(bytes.toString().startsWith('CONNECT') ? 'HTTP/1.1 200 OK\r\n\r\n' : 'pong');
    });
  });
  const { gateway, pass } = await startLooking(bunTcp, await startServer(stays));
  const client = connect({ port: gateway.port, host: '127.0.0.1' });
  const answers: string[] = [];
  client.on('data', (bytes) => {
    answers.push(bytes.toString());
    if (answers.length === 1) client.write('ping');
    else client.end();
  });
  client.write(ASKING[2]?.ask ?? '');
  const heldAfter = async (ms: number) => {
    await pass(ms);
    await pass(0);
    return gateway.carriers.size - 1;
  };
  while (answers.length < 2) await Bun.sleep(5);
  expect(await heldAfter(59 * SECOND)).toBe(1);
  expect(await heldAfter(3 * SECOND)).toBe(0);
});

test.each(['CONNECT a.example:5000', 'GET http://a.example/'])(
  'a session lasts as long as %s, and its time',
  async (line) => {
    const proxy = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    });
    const { gateway, pass } = await startLooking(bunTcp, await startServer(proxy));
    const client = connect({ port: gateway.port, host: '127.0.0.1' });
    client.write(
      `${line} HTTP/1.1\r\nProxy-Authorization: Basic ${btoa('u-session-a-sesstime-1:')}\r\n\r\nhello`,
    );
    const standsAfter = async (ms: number) => {
      await pass(ms);
      const said = { session: 'a', site: 'b.example', ok: true };
      return gateway.report({ id: '127.0.0.1', speaksForAll: true }, said).counted;
    };
    while (gateway.carriers.size < 2) await Bun.sleep(5);
    const during = [await standsAfter(50 * SECOND), await standsAfter(50 * SECOND)];
    client.resetAndDestroy();
    await gateway.empty();
    expect([...during, await standsAfter(59 * SECOND), await standsAfter(2 * SECOND)]).toEqual([
      true,
      true,
      true,
      false,
    ]);
  },
);
