import { expect, test } from 'bun:test';
import { json } from '../support/json.ts';
import { cli } from '../support/servers/cli.ts';
import { PNG } from '../support/servers/running-server.ts';
import { type RuntimeName, startServer } from '../support/servers/server-process.ts';
import { until } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

const DAY_MS = 86_400_000;
const PRELOAD = ['--preload', './test/support/servers/shift-clock.ts'];
const COMMANDS: Record<RuntimeName, string[]> = {
  bun: [process.execPath, ...PRELOAD, 'src/main.ts'],
  deno: ['deno', 'run', '-A', '--no-check', ...PRELOAD, 'src/main.deno.ts'],
};
const TOKEN = 'a-token-of-the-administrator';
const JUDGED = {
  ADMIN_TOKEN: TOKEN,
  PROXY_JUDGES: 'http://127.0.0.1:9/',
  PROXY_SOURCES: 'file:/dev/null',
  IMAGE_WORKERS: '1',
};

interface Server {
  url: string;
  send(path: string, init?: RequestInit): Promise<Response>;
  ask<T>(path: string, init?: RequestInit): Promise<T>;
}

/** Runs the real server in the folder with a clock that is wrong by so much. */
async function withClock<T>(
  [runtime, folder]: readonly [RuntimeName, string],
  shiftMs: number,
  work: (server: Server) => Promise<T>,
): Promise<T> {
  const env = { ...JUDGED, CLOCK_SHIFT_MS: String(shiftMs) };
  const server = await startServer(COMMANDS[runtime], env, folder);
  const send: Server['send'] = (path, init) => fetch(server.url + path, init);
  try {
    return await work({ url: server.url, send, ask: async (path, init) => json(await send(path, init)) });
  } finally {
    await server.stop();
  }
}

const POST = { method: 'POST' };
const AS_ADMIN = { ...POST, headers: { authorization: `Bearer ${TOKEN}` } };
const images = async ({ ask }: Server) => (await ask<{ images: number }>('/api/stats')).images;
const degraded = async ({ ask }: Server) => (await ask<{ degraded?: string[] }>('/readyz')).degraded ?? [];

/** Runs a refresh to its end, and returns its ID. */
async function refresh({ ask }: Server): Promise<string> {
  const { job } = await ask<{ job: { id: string } }>('/api/refresh', AS_ADMIN);
  await until(async () => (await ask<{ job: { state: string } }>('/api/refresh')).job.state !== 'running');
  return job.id;
}

test.each(['bun', 'deno'] as const)(
  'a server on %s whose clock was 100 days ahead, or that was off for so long, loses nothing and goes on working',
  (runtime) =>
    withFolder(async (folder) => {
      const place = [runtime, folder] as const;
      await withClock(place, 0, async (server) => {
        for (let count = 0; count < 3; count++) {
          expect((await server.send('/api/upload', { ...POST, body: PNG })).status).toBe(201);
        }
      });

      const ahead = await withClock(place, 100 * DAY_MS, async (server) => {
        const refused = await server.send('/api/cleanup', AS_ADMIN);
        expect([refused.status, (await json<{ code: string }>(refused)).code]).toEqual([409, 'conflict']);
        expect(await degraded(server)).toContainEqual(
          expect.stringMatching(
            /^The server did not run for 100 days, or its clock was changed\..* --confirm ends this\.$/,
          ),
        );
        expect(await images(server)).toBe(3);
        // What is confirmed with a wrong clock does no harm either.
        expect((await server.send('/api/cleanup?confirm=true', AS_ADMIN)).status).toBe(200);
        expect(await images(server)).toBe(3);
        return refresh(server);
      });

      await withClock(place, 0, async (server) => {
        expect(await degraded(server)).toContainEqual(
          expect.stringMatching(/^The clock was set back by 100 days\./),
        );
        const env = { PICPOOL_URL: server.url, ADMIN_TOKEN: TOKEN };
        const { code, stderr } = await cli(['cleanup'], { env });
        expect([code, stderr]).toEqual([1, expect.stringContaining('picpool cleanup --confirm')]);
        const confirmed = await cli(['cleanup', '--confirm'], { env });
        expect([confirmed.code, confirmed.stdout]).toEqual([0, '0 images removed, 0 B freed\n']);
        expect(await degraded(server)).not.toContainEqual(expect.stringContaining('clock'));
        expect((await server.send('/api/cleanup', AS_ADMIN)).status).toBe(200);
        expect(await images(server)).toBe(3);
        expect(await refresh(server)).not.toBe(ahead);
      });
    }),
  180_000,
);
