import { expect, test } from 'bun:test';
import { connect, createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { bunTcp } from '../../src/runtime/bun-tcp.ts';
import { type BareOptions, startBareGateway } from '../support/gateway/bare.ts';
import { createRandom } from '../support/random.ts';
import { listening } from '../support/servers/listening.ts';
import { afterEachTest } from '../support/shared.ts';

const closers = afterEachTest();

const NONE = 'HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n';
const PAGE = 'Please log in to our network. '.repeat(20);
const answerOf = (fields: string, body: string) =>
  `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`;
/** Its length depends on what the client accepts. */
const portal = (head: string) =>
  /accept-encoding: gzip/i.test(head)
    ? answerOf('Content-Encoding: gzip\r\n', gzipSync(PAGE).toString('latin1'))
    : answerOf('', PAGE);
const chunked = (fields: string) =>
  `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nServer: nginx\r\n${fields}Transfer-Encoding: chunked\r\n\r\n4\r\nsite\r\n0\r\n\r\n`;
const closed = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve));
const isCanary = (head: string) => head.includes('.invalid');

/** Proxies that have passed a check and answer heads with this; `null`: never. */
async function startWorld(
  count: number,
  answer: (head: string, index: number, socket: Socket) => string | null,
  more: Partial<BareOptions> = {},
) {
  const canaries: Promise<unknown>[] = [];
  const proxies: string[] = [];
  for (let index = 0; index < count; index++) {
    const proxy = createServer((socket) => {
      let head = '';
      socket.on('error', () => {});
      socket.on('data', (bytes) => {
        head += bytes.toString('latin1');
        if (!head.includes('\r\n\r\n')) return;
        if (isCanary(head)) canaries.push(closed(socket));
        const text = answer(head, index, socket);
        head = '';
        if (text !== null) setImmediate(() => socket.write(text, 'latin1'));
      });
    });
    proxies.push(`127.0.0.1:${await listening(proxy)}`);
    closers.push(() => proxy.close());
  }
  const random = createRandom(5);
  const gateway = await startBareGateway({
    tcp: bunTcp,
    proxies,
    limits: { random, timeoutMs: 1_000 },
    ...more,
  });
  closers.push(() => gateway.stop());
  const ask = async (url: string, fields = '') => {
    const socket = connect(gateway.port, '127.0.0.1');
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
    });
    socket.write(`GET ${url} HTTP/1.1\r\nHost: x\r\n${fields}Connection: close\r\n\r\n`);
    socket.on('error', () => {});
    await closed(socket);
    return text.slice(text.indexOf('\r\n\r\n') + 4);
  };
  return { gateway, ask, canaries };
}

test('an exit that was found to be a portal does not come back with what was on its way', async () => {
  let [hasTurned, isHeld, isFound, next] = [false, false, false, 0];
  const released = Promise.withResolvers<void>();
  const world = await startWorld(
    2,
    (head, index, socket) => {
      if (!hasTurned || index > 0)
        return isCanary(head) ? NONE : answerOf(`ETag: "${head.split(' ')[1]}"\r\n`, 'site');
      if (isHeld) return portal(head);
      isHeld = true;
      socket.write(portal(head).slice(0, -9));
      void released.promise.then(() => socket.write(PAGE.slice(-9)));
      return null;
    },
    {
      limits: {
        random: createRandom(5),
        onFailure: (_, failure) => {
          isFound ||= failure === 'page';
        },
      },
    },
  );
  const ask = () => world.ask(`http://a.example/${next++}`);
  for (let n = 0; n < 8; n++) await ask();
  hasTurned = true;
  const first = [ask(), ask(), ask(), ask()];
  while (!isFound) await ask();
  released.resolve();
  expect(await Promise.all(first)).toContain(PAGE);
  const later: string[] = [];
  for (let n = 0; n < 8; n++) later.push(await ask());
  expect(new Set(later)).toEqual(new Set(['site']));
});

test('a portal is found although its page is compressed for clients, and the URLs are long', async () => {
  const world = await startWorld(2, (head, index) =>
    index === 0 ? portal(head) : isCanary(head) ? NONE : chunked(''),
  );
  const bodies: string[] = [];
  for (let n = 0; n < 40; n++)
    bodies.push(await world.ask(`http://a.example/${n}/${'x'.repeat(200)}`, 'Accept-Encoding: gzip\r\n'));
  expect(bodies.slice(-20).filter((body) => !body.includes('site'))).toEqual([]);
});

test('sites that answer everything alike, of which clients mix several, cost one question each', async () => {
  let now = 0;
  const world = await startWorld(
    6,
    (head) => (isCanary(head) ? NONE : chunked(head.includes('b.example') ? 'Vary: Cookie\r\n' : '')),
    { monotonic: () => now },
  );
  const random = createRandom(3);
  for (let n = 0; n < 400; n++) {
    now += 500;
    await world.ask(`http://${random() < 0.5 ? 'a' : 'b'}.example/${n}`);
  }
  expect(world.canaries.length).toBeWithin(6, 13);
});

test('an exit is not taken for a portal because a site and a name server use the same software', async () => {
  const failures: string[] = [];
  const world = await startWorld(1, (head) => chunked(isCanary(head) ? 'X-Ads: 1\r\n' : 'Vary: Cookie\r\n'), {
    limits: { onFailure: (_, failure) => void failures.push(failure) },
  });
  for (let n = 0; n < 6; n++) await world.ask(`http://a.example/${n}`);
  await Promise.all(world.canaries);
  expect([world.canaries.length, ...failures]).toEqual([1]);
});

test('a question that an exit does not answer ends in time, and counts for it no longer', async () => {
  const world = await startWorld(1, (head) => (isCanary(head) ? null : chunked('')));
  for (let n = 0; n < 3; n++) await world.ask(`http://a.example/${n}`);
  expect(world.gateway.carriers.size).toBe(1);
  await world.canaries[0];
  expect([world.gateway.carriers.size, world.canaries.length]).toEqual([0, 1]);
});
