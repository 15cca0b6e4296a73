import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseConfig } from '../../../src/config.ts';
import type { Facts } from '../../../src/lib/logger.ts';
import { bunRuntime } from '../../../src/runtime/bun.ts';
import { start } from '../../../src/start.ts';
import { WORKER_COMMAND } from '../codec/worker-command.ts';
import { plainFacts } from '../facts.ts';
import { asJson } from '../json.ts';

/** A 2 x 2 pixel PNG. */
export const PNG = Uint8Array.fromBase64(
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAEklEQVQImWOQj98vH7+fAUIBACA6BPWe5fjkAAAAAElFTkSuQmCC',
);

/**
 * The whole server in this process, on a free port, with a folder of its own; no judge answers, and nothing is fetched.
 * `prepare` may write data before it starts.
 */
export async function runServer(
  env: Record<string, string> = {},
  prepare?: (folder: string) => Promise<void>,
) {
  const folder = await mkdtemp(join(tmpdir(), 'picpool-ops-'));
  await prepare?.(folder);
  const logged: { message: string; facts: Facts }[] = [];
  const config = parseConfig({
    HOST: '127.0.0.1',
    PORT: '0',
    DATA_DIR: folder,
    TRUSTED_PROXIES: '127.0.0.1',
    PROXY_REFRESH_ON_START: 'false',
    PROXY_JUDGES: 'http://127.0.0.1:9/',
    PROXY_SOURCES: 'file:/dev/null',
    IMAGE_WORKERS: '1',
    // It doubles what the start of a worker takes; servers that are processes of their own have it.
    IMAGE_SANDBOX: 'off',
    ...env,
  });
  const environment = { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: folder };
  const server = await start(
    { ...bunRuntime, selfCommand: () => WORKER_COMMAND },
    config,
    (_level, message, facts = {}) => void logged.push({ message, facts: plainFacts(facts) }),
    environment,
  );

  const send = (path: string, { from, ...init }: RequestInit & { from?: string } = {}) => {
    const headers = new Headers(init.headers);
    if (from !== undefined) headers.set('x-forwarded-for', from);
    return fetch(`${server.url}${path}`, { redirect: 'manual', ...init, headers });
  };

  return {
    url: server.url,
    /** Its data. */
    folder,
    logged,
    /** A request as from the client with that address; the test's own when none is given. */
    send,
    post: (path: string, body: object, headers: Record<string, string> = {}) =>
      send(path, asJson('POST', body, headers)),
    upload: (query: string = '', from?: string) =>
      send(`/api/upload?${query}`, { method: 'POST', body: PNG, ...(from !== undefined && { from }) }),
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export type RunningServer = Awaited<ReturnType<typeof runServer>>;

/** Runs the work with a server of its own. */
export async function withServer(
  env: Record<string, string>,
  work: (server: RunningServer) => Promise<void>,
): Promise<void> {
  const server = await runServer(env);
  try {
    await work(server);
  } finally {
    await server.stop();
  }
}
