import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createLocalRateLimiter } from '../../adapters/local/rate-limiter.ts';
import type { ImageRecord } from '../../src/image/image.ts';
import { countedBody, serveLimited } from '../../src/image/serve/limited.ts';
import { createLimitedViews } from '../../src/image/serve/limited-views.ts';
import { systemClock } from '../../src/lib/clock.ts';

const PICTURE = new Blob([new Uint8Array(200_000)]);

/** Keeps the event loop busy, as a machine does that has too much to do. */
function stall(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

const viewsOf = (onEnd: (counts: boolean) => void, sleep: (ms: number) => Promise<void>) =>
  createLimitedViews({
    images: {
      takeView: async () => true,
      endView: async (_id, _token, counts) => {
        onEnd(counts);
        return false;
      },
      get: async () => null,
    },
    limiter: createLocalRateLimiter(),
    random: randomBytes,
    now: Date.now,
    sleep,
    onRemoved: async () => {},
    unfinished: { during: (_kind, _images, work) => work(() => {}) },
    log: () => {},
  });

/** A server of one picture; resolves `seen` with the outcome of its view. */
function serve(pause: (ms: number) => Promise<void>) {
  const { promise: seen, resolve } = Promise.withResolvers<boolean>();
  const takeView = viewsOf(resolve, pause);
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async () =>
      new Response(countedBody(PICTURE, await takeView({ id: 'a' } as ImageRecord), PICTURE.size), {
        headers: { 'content-length': String(PICTURE.size) },
      }),
  });
  return { server, seen };
}

/** As much of it as can be read without having seen it. */
const UNSEEN = PICTURE.size / 10 - 1;

/** Has a client read that much. `inPause` happens in the pauses of the server before it sends the rest, counted from 0. */
async function readUnseen(inPause: (count: number, socket: Socket) => void): Promise<boolean> {
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
      if (head >= 4 && text.length - head >= UNSEEN) read.resolve();
    });
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    return await seen;
  } finally {
    socket.destroy();
    await server.stop(true);
  }
}

test.each(['resetAndDestroy', 'destroy'] as const)(
  'who has less than a tenth and breaks off with %s has not seen the picture',
  async (method) => {
    expect(await readUnseen((pause, socket) => void (pause === 0 && socket[method]()))).toBe(false);
  },
);

test('a client that stays has seen the picture', async () => {
  expect(await readUnseen(() => {})).toBe(true);
});

test('who has a tenth has seen the picture, however many bytes are missing', async () => {
  for (const [share, isSeen] of [
    [0.09, false],
    [0.1, true],
    [0.99, true],
  ] as const) {
    const ended: boolean[] = [];
    const view = {
      settle: async () => {},
      end: async (seen: boolean) => void ended.push(seen),
      timedOut: Promise.resolve(false),
    };
    const pieces = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let count = 0; count < 100; count++) controller.enqueue(new Uint8Array(10));
        controller.close();
      },
    });
    const reader = countedBody(pieces, view, 1000).getReader();
    for (let read = 0; read < share * 1000; ) read += (await reader.read()).value?.length ?? 0;
    await reader.cancel();
    expect([share, ended[0]]).toEqual([share, isSeen]);
  }
});

test('a stalled machine does not shorten the time in which a break is noticed', async () => {
  const seen = await readUnseen((pause, socket) => {
    if (pause === 0) stall(400);
    if (pause === 1) socket.resetAndDestroy();
  });
  expect(seen).toBe(false);
});

test('a file that cannot be read uses up no view, however often it is asked for', async () => {
  const ended: boolean[] = [];
  const service = {
    takeView: viewsOf((counts) => ended.push(counts), systemClock.sleep),
    read: () => Promise.reject(new Error('The disk is not mounted.')),
    accessed: () => {},
  };
  const image = { id: 'a', format: 'webp', filename: 'a.webp' } as ImageRecord;
  const asked = { image, download: false, head: false, free: false };
  for (let tries = 0; tries < 5; tries++)
    await expect(serveLimited(service, new Request('http://localhost/i/a'), asked)).rejects.toThrow(
      'mounted',
    );
  expect(ended).toEqual(Array(5).fill(false));
});
