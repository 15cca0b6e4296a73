import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PNG } from '../servers/running-server.ts';
import { COMMANDS, logInto, startServer } from '../servers/server-process.ts';
import type { LossServer } from './world.ts';

/** A server in a process of its own, whose log can be read; `preload`: a module that is loaded before it. */
export async function startLogged(env: Record<string, string>, preload?: string): Promise<LossServer> {
  const folder = await mkdtemp(join(tmpdir(), 'picpool-log-'));
  const log = join(folder, 'log');
  const [bun = '', main = ''] = COMMANDS.bun;
  const server = await startServer(
    preload === undefined ? 'bun' : [bun, '--preload', preload, main],
    {
      LOG_LEVEL: 'debug',
      PROXY_JUDGES: 'http://127.0.0.1:9/',
      PROXY_SOURCES: 'file:/dev/null',
      IMAGE_WORKERS: '1',
      ...env,
    },
    undefined,
    logInto(log),
  );
  return {
    url: server.url,
    get logged() {
      const lines = readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line.endsWith('}'));
      return lines.map((line) => {
        const { message, ...facts } = JSON.parse(line) as { message: string };
        return { message, facts };
      });
    },
    send: (path, init) => fetch(server.url + path, { redirect: 'manual', ...init }),
    upload: () => fetch(`${server.url}/api/upload`, { method: 'POST', body: PNG }),
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
