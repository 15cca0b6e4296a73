import { describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { transparent } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { COMMANDS, LIGHT, type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { until } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

const ENV = {
  PROXY_JUDGES: 'http://127.0.0.1:9/',
  PROXY_SOURCES: 'file:/dev/null',
  PROXY_REFRESH_ON_START: 'false',
  TRUSTED_PROXIES: '127.0.0.1',
};
const UPLOADS = 16;

const readiness = async ({ url }: ServerProcess) => {
  const answer = await fetch(`${url}/readyz`, { headers: { connection: 'close' } });
  return { answered: answer.status, ...(await json<{ error?: string }>(answer)) };
};

describe.each(['bun', 'deno'] as const)('SIGTERM on %s', (runtime) => {
  test('answers every upload that is in flight, and then ends with 0', async () => {
    // They may take longer than the usual grace on a busy machine, and that is not what is asked here.
    const server = await startServer(runtime, { ...ENV, ...LIGHT, SHUTDOWN_GRACE: '80s' });
    const picture = await transparent();
    // Of four clients, for one may have so many waiting only.
    const uploads = Array.from({ length: UPLOADS }, (_, index) =>
      fetch(`${server.url}/api/upload`, {
        method: 'POST',
        body: picture,
        headers: { 'x-forwarded-for': `198.51.100.${index % 4}` },
      }),
    );
    const queued = async () => {
      const text = await (await fetch(`${server.url}/metrics`)).text();
      return Number(/^picpool_conversion_queue_length (\d+)/m.exec(text)?.[1] ?? 0);
    };
    await until(async () => (await queued()) >= UPLOADS - 6);
    const events = await fetch(`${server.url}/api/refresh/events`);
    // The launcher of npm may pass on what the server got as well.
    server.kill('SIGINT');
    server.kill('SIGTERM');
    const answers = await Promise.all(uploads);
    expect(answers.map(({ status }) => status)).toEqual(Array(UPLOADS).fill(201));
    await Promise.all(answers.map((answer) => answer.body?.cancel()));
    const answeredAt = performance.now();
    expect(await server.exited).toBe(0);
    // Nothing waits for a client that listens.
    expect(performance.now() - answeredAt).toBeLessThan(40_000);
    await events.text().catch(() => '');
    await server.stop();
  }, 180_000);

  test('ends with 0 even if a client never reads its answers', async () => {
    const server = await startServer(runtime, { ...ENV, SHUTDOWN_GRACE: '1s' });
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => {});
    socket.pause().write('GET /docs HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(100));
    await Bun.sleep(1000);
    // As a terminal does that is closed.
    server.kill('SIGHUP');
    expect(await server.exited).toBe(0);
    socket.destroy();
    await server.stop();
  }, 60_000);

  test('is not ready first, and serves until the delay is over', async () => {
    const server = await startServer(runtime, { ...ENV, SHUTDOWN_DELAY: '2s' });
    expect((await readiness(server)).answered).toBe(200);
    server.kill('SIGTERM');
    await until(async () => (await readiness(server)).answered === 503);
    expect(await readiness(server)).toMatchObject({ answered: 503, error: 'The server is stopping.' });
    expect((await fetch(`${server.url}/livez`)).status).toBe(200);
    expect((await fetch(`${server.url}/api/list`)).status).toBe(200);
    expect(await server.exited).toBe(0);
    await server.stop();
  }, 180_000);

  test(
    'says so in the log when it comes during the start',
    () =>
      withFolder(async (folder) => {
        const connected = Promise.withResolvers<void>();
        // A Redis that never answers.
        const silent = createServer(() => connected.resolve()).listen(0, '127.0.0.1');
        await once(silent, 'listening');
        const { port } = silent.address() as AddressInfo;
        const stores = { DATA_DIR: folder, METADATA_URL: `redis://127.0.0.1:${port}` };
        const child = Bun.spawn(COMMANDS[runtime], {
          stdout: 'pipe',
          stderr: 'ignore',
          env: { ...process.env, ...ENV, ...stores, HOST: '127.0.0.1', PORT: '0' },
        });
        await connected.promise;
        child.kill('SIGTERM');
        expect(await new Response(child.stdout).text()).toContain('"signal":"SIGTERM"');
        expect(await child.exited).toBe(0);
        silent.close();
      }),
    180_000,
  );
});
