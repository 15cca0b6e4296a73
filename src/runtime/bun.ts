import type { Pointer } from 'bun:ffi';
import { fileURLToPath } from 'node:url';
import { type Runtime, systemOf } from './runtime.ts';
import { openThread } from './sqlite-thread.ts';

/**
 * Bodies are counted by `http/`, which answers with the error envelope. Bun's own limit would answer with an empty
 * 413.
 */
const NO_BODY_LIMIT = Number.MAX_SAFE_INTEGER;

/** Seconds without traffic after which Bun closes a connection (maximum: 255). */
const IDLE_TIMEOUT_S = 60;

export const bunRuntime: Runtime = {
  name: 'bun',
  version: Bun.version,

  async tcp() {
    return (await import('./bun-tcp.ts')).bunTcp;
  },

  async openSqlite(path) {
    const { Database } = await import('bun:sqlite');
    return new Database(path, { create: true, readwrite: true });
  },

  openSqliteThread: (path) => openThread(new URL('./bun-sqlite-thread.ts', import.meta.url), path),

  async serve(handler, where) {
    const peerOf = (request: Request): string => server.requestIP(request)?.address ?? '';
    const server: Bun.Server<undefined> = Bun.serve({
      maxRequestBodySize: NO_BODY_LIMIT,
      // Otherwise an error that nothing catches shows visitors the source, also if NODE_ENV was set at the start.
      development: false,
      // Outside of development, Bun lets two servers share a port: each would get half of the requests.
      reusePort: false,
      // Also for a socket, although its type has none: the default of 10 s is less than a conversion may take.
      idleTimeout: IDLE_TIMEOUT_S,
      fetch: (request: Request) => handler(request, peerOf),
      ...('path' in where ? { unix: where.path } : where),
    } as Bun.Serve.Options<undefined, never>);
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

  async system() {
    if (process.platform !== 'linux' || (process.arch !== 'x64' && process.arch !== 'arm64')) return null;
    const { dlopen, ptr, read } = await import('bun:ffi');
    return systemOf(process.arch, (name) => {
      const { symbols } = dlopen(name, {
        syscall: { args: Array<'i64'>(7).fill('i64'), returns: 'i64' },
        __errno_location: { args: [], returns: 'ptr' },
      });
      return {
        syscall: symbols.syscall as (...words: bigint[]) => bigint,
        errno: () => read.i32(symbols.__errno_location() as Pointer, 0),
        address: (bytes) => BigInt(ptr(bytes)),
      };
    });
  },

  selfCommand() {
    const main = fileURLToPath(new URL('../main.ts', import.meta.url));
    return main.startsWith('/$bunfs/') ? [process.execPath] : [process.execPath, main];
  },
};
