import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createLocalRateLimiter } from '../../adapters/local/rate-limiter.ts';
import type { ImageRecord } from '../../src/image/image.ts';
import { countedBody } from '../../src/image/serve/limited.ts';
import { createLimitedViews } from '../../src/image/serve/limited-views.ts';
import { systemClock } from '../../src/lib/clock.ts';

const PICTURE = new Blob([new Uint8Array(200_000)]);

/** Keeps the event loop busy, as a machine does that has too much to do. */
function stall(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** A server of one picture; resolves `seen` with the outcome of its view. */
function serve(pause: (ms: number) => Promise<void>) {
  const { promise: seen, resolve } = Promise.withResolvers<boolean>();
  const views = createLimitedViews({
    images: {
      takeView: async () => true,
      endView: async (_id, _token, counts) => {
        resolve(counts);
        return false;
      },
      get: async () => null,
    },
    limiter: createLocalRateLimiter({ now: Date.now }),
    random: randomBytes,
    now: Date.now,
    sleep: pause,
    onRemoved: async () => {},
    unfinished: { settle: async () => {} },
    log: () => {},
  });
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async () =>
      new Response(countedBody(PICTURE, await views.take({ id: 'a' } as ImageRecord)), {
        headers: { 'content-length': String(PICTURE.size) },
      }),
  });
  return { server, seen };
}

/** Has a client read all but the last byte. `inPause` happens in the pauses of the server before it sends that one, counted from 0. */
async function readAllButTheLast(inPause: (count: number, socket: Socket) => void): Promise<boolean> {
  const read = Promise.withResolvers<void>();
  let pauses = 0;
  const { server, seen } = serve(async (ms) => {
    await read.promise;
    const closed = socket.destroyed ? null : once(socket, 'close');
    inPause(pauses++, socket);
    if (socket.destroyed) await closed;
    await systemClock.sleep(ms);
  });
  const socket = connect(server.port ?? 0, '127.0.0.1');
  socket.on('error', () => {});
  try {
    let text = '';
    socket.setEncoding('latin1').on('data', (piece: string) => {
      text += piece;
      const head = text.indexOf('\r\n\r\n') + 4;
      if (head >= 4 && text.length - head >= PICTURE.size - 1) read.resolve();
    });
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    return await seen;
  } finally {
    socket.destroy();
    await server.stop(true);
  }
}

test.each(['resetAndDestroy', 'destroy'] as const)(
  'who has all but the last byte and breaks off with %s has not seen the picture',
  async (method) => {
    expect(await readAllButTheLast((pause, socket) => void (pause === 0 && socket[method]()))).toBe(false);
  },
);

test('a client that stays has seen the picture', async () => {
  expect(await readAllButTheLast(() => {})).toBe(true);
});

test('a stalled machine does not shorten the time in which a break is noticed', async () => {
  const seen = await readAllButTheLast((pause, socket) => {
    if (pause === 0) stall(400);
    if (pause === 1) socket.resetAndDestroy();
  });
  expect(seen).toBe(false);
});
