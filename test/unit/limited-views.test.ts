import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { createLocalRateLimiter } from '../../adapters/local/rate-limiter.ts';
import type { ImageRecord } from '../../src/image/image.ts';
import { createLimitedViews } from '../../src/image/limited-views.ts';
import { countedBody } from '../../src/image/serve/counted-body.ts';
import { systemClock } from '../../src/lib/clock.ts';

const PICTURE = new Blob([new Uint8Array(200_000)]);

/** Keeps the event loop busy, as a machine does that has too much to do. */
function stall(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** A server of one picture; resolves `seen` with what became of its view. */
function serve() {
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
    ...systemClock,
    onRemoved: async () => {},
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

/** Reads all that comes before the last byte, and then does `work`. */
async function readAllButTheLast(work: (socket: ReturnType<typeof connect>) => void): Promise<boolean> {
  const { server, seen } = serve();
  try {
    let bytes = 0;
    const socket = connect(server.port ?? 0, '127.0.0.1', () =>
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'),
    );
    socket.on('error', () => {});
    socket.on('data', ({ length }) => {
      // With the head some bytes of the file may be missing yet; they are here long before the last one.
      if (bytes < PICTURE.size && bytes + length >= PICTURE.size) setTimeout(() => work(socket), 20);
      bytes += length;
    });
    return await seen.finally(() => socket.destroy());
  } finally {
    await server.stop(true);
  }
}

test('who has all but the last byte and breaks off has not seen the picture', async () => {
  expect(await readAllButTheLast((socket) => socket.resetAndDestroy())).toBe(false);
  expect(await readAllButTheLast((socket) => socket.destroy())).toBe(false);
});

test('who stays has seen it', async () => {
  expect(await readAllButTheLast(() => {})).toBe(true);
});

test('a machine that stalls takes none of the time in which a break is heard', async () => {
  const broken = await readAllButTheLast((socket) => {
    stall(400);
    setTimeout(() => socket.resetAndDestroy(), 100);
  });
  expect(broken).toBe(false);
});
