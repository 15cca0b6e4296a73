import { fileURLToPath } from 'node:url';
import { bunTcp } from './bun-tcp.ts';
import type { Runtime } from './runtime.ts';

/** Bodies are counted by `http/`, which answers in the error envelope; Bun's own limit answers an empty 413. */
const NO_BODY_LIMIT = Number.MAX_SAFE_INTEGER;

/** Seconds without traffic after which Bun closes a connection (255 is its most). */
const IDLE_TIMEOUT_S = 60;

export const bunRuntime: Runtime = {
  name: 'bun',
  version: Bun.version,
  tcp: bunTcp,

  async openSqlite(path) {
    const { Database } = await import('bun:sqlite');
    return new Database(path, { create: true, readwrite: true });
  },

  async serve(handler, where) {
    const common = {
      maxRequestBodySize: NO_BODY_LIMIT,
      fetch: (request: Request, self: Bun.Server<undefined>) =>
        handler(request, () => self.requestIP(request)?.address ?? ''),
    };
    const server = Bun.serve(
      'path' in where
        ? { ...common, unix: where.path }
        : { ...common, ...where, idleTimeout: IDLE_TIMEOUT_S },
    );
    return {
      hostname: server.hostname ?? '',
      port: server.port ?? 0,
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
