import { fileURLToPath } from 'node:url';
import type { Runtime } from './runtime.ts';

/** Bodies are counted by `http/`, which answers in the error envelope; Bun's own limit answers an empty 413. */
const NO_BODY_LIMIT = Number.MAX_SAFE_INTEGER;

/** Seconds without traffic after which Bun closes a connection (255 is its most). */
const IDLE_TIMEOUT_S = 60;

export const bunRuntime: Runtime = {
  name: 'bun',
  version: Bun.version,

  async openSqlite(path) {
    const { Database } = await import('bun:sqlite');
    return new Database(path, { create: true, readwrite: true });
  },

  async serve(handler, { hostname, port }) {
    const server = Bun.serve({
      hostname,
      port,
      maxRequestBodySize: NO_BODY_LIMIT,
      idleTimeout: IDLE_TIMEOUT_S,
      fetch: (request, self) => handler(request, () => self.requestIP(request)?.address ?? ''),
    });
    return {
      hostname: server.hostname ?? hostname,
      port: server.port ?? port,
      drain: () => server.stop(false),
      close: () => server.stop(true),
    };
  },

  async fileBody(path, start, end) {
    return Bun.file(path).slice(start, end);
  },

  selfCommand() {
    const main = fileURLToPath(new URL('../main.ts', import.meta.url));
    return main.startsWith('/$bunfs/') ? [process.execPath] : [process.execPath, main];
  },
};
