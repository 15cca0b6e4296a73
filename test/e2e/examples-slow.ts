/**
 * Everything that a reverse proxy could cut off, through each example and each setup of the documents, side by side: an
 * upload of 10 MB whose response takes 40 s, and server-sent events that last as long. Run by `scripts/examples-test`.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { noise } from '../support/images/images.ts';
import { EXAMPLES, startBelowPath } from '../support/servers/examples.ts';
import { type ServerProcess, startServer } from '../support/servers/server-process.ts';

const SLOW_MS = 40_000;

let server: ServerProcess;
let scanner: ReturnType<typeof Bun.serve>;
let picture: Uint8Array<ArrayBuffer>;
beforeAll(async () => {
  picture = new Uint8Array(await noise(1850, 1850));
  // The service that is asked about each picture takes its time.
  scanner = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 120,
    async fetch() {
      await Bun.sleep(SLOW_MS);
      return Response.json({ verdict: 'allow' });
    },
  });
  server = await startServer('bun', {
    TRUSTED_PROXIES: '127.0.0.1',
    PROXY_JUDGES: 'http://127.0.0.1:9/',
    IMAGE_SCAN_URL: `http://127.0.0.1:${scanner.port}/`,
    IMAGE_SCAN_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    IMAGE_SCAN_TIMEOUT: '60s',
  });
}, 180_000);
afterAll(async () => {
  await server?.stop();
  await scanner?.stop(true);
});

const SETUPS = [
  ...Object.entries(EXAMPLES).map(([name, { start }]) => ({ name, path: '', start })),
  { name: 'nginx.conf below a path', path: '/pics', start: startBelowPath },
];

/** Reads server-sent events until the signal aborts, and returns when each piece came, in ms since the request. */
async function listen(url: string, signal: AbortSignal): Promise<number[]> {
  const startedAt = performance.now();
  const times: number[] = [];
  try {
    const { body } = await fetch(url, { signal });
    for await (const _ of body ?? []) times.push(performance.now() - startedAt);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return times;
}

test.concurrent.each(SETUPS)(
  '$name passes an upload of 10 MB, a response after 40 s, and events all the while',
  async ({ path, start }) => {
    const proxy = await start(new URL(server.url).host);
    const leaving = new AbortController();
    try {
      expect(picture.length).toBeGreaterThan(10_000_000);
      const events = listen(`${proxy.url}${path}/api/refresh/events`, leaving.signal);
      const startedAt = performance.now();
      const answer = await fetch(`${proxy.url}${path}/api/upload`, { method: 'POST', body: picture });
      expect([answer.status, await answer.json()]).toMatchObject([201, { success: true }]);
      expect(performance.now() - startedAt).toBeGreaterThan(SLOW_MS);
      leaving.abort();
      const times = await events;
      // The first is the state, and each of the others a sign of life.
      expect(times.length).toBeGreaterThanOrEqual(3);
      expect(times[0]).toBeLessThan(SLOW_MS / 4);
    } finally {
      leaving.abort();
      await proxy.stop();
    }
  },
  180_000,
);
