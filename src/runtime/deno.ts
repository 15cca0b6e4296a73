import { open } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { nodeTcp } from './node-tcp.ts';
import type { Runtime } from './runtime.ts';

/** The part of Deno's global that is used here; its own types would clash with Bun's. */
declare const Deno: {
  version: { deno: string };
  execPath(): string;
  permissions: { querySync(one: { name: 'run'; command: string }): { state: string } };
  serve(
    options: ({ hostname: string; port: number } | { path: string }) & {
      signal: AbortSignal;
      onListen(): void;
    },
    handler: (request: Request, info: { remoteAddr: { hostname?: string } }) => Response | Promise<Response>,
  ): { addr: { hostname?: string; port?: number }; finished: Promise<void>; shutdown(): Promise<void> };
};

const CHUNK_BYTES = 64 * 1024;

/** What sharp needs. Native code could do more than these say, but neither network nor programs are among them. */
const CHILD_PERMISSIONS = [
  '--no-prompt',
  '--allow-read',
  '--allow-write',
  '--allow-env',
  '--allow-ffi',
  '--allow-sys=setPriority',
];

export const denoRuntime: Runtime = {
  name: 'deno',
  version: Deno.version.deno,
  tcp: nodeTcp,

  async openSqlite(path) {
    return new DatabaseSync(path);
  },

  async serve(handler, where) {
    const abort = new AbortController();
    const server = Deno.serve({ ...where, signal: abort.signal, onListen() {} }, (request, info) =>
      handler('path' in where ? withoutUnix(request) : request, () => info.remoteAddr.hostname ?? ''),
    );
    let finished = false;
    server.finished.then(() => {
      finished = true;
    });
    return {
      hostname: server.addr.hostname ?? '',
      port: server.addr.port ?? 0,
      drain: () => server.shutdown(),
      async close() {
        // Aborting a server that has already ended throws.
        if (!finished) abort.abort();
        await server.finished;
      },
    };
  },

  async fileBody(path, start, end) {
    const file = await open(path);
    let position = start;
    return new ReadableStream({
      async pull(controller) {
        const chunk = new Uint8Array(Math.min(CHUNK_BYTES, end - position));
        const { bytesRead } =
          chunk.length === 0 ? { bytesRead: 0 } : await file.read(chunk, 0, chunk.length, position);
        if (bytesRead === 0) {
          controller.close();
          return file.close();
        }
        position += bytesRead;
        controller.enqueue(chunk.subarray(0, bytesRead));
      },
      cancel: () => file.close(),
    });
  },

  selfCommand() {
    const path = Deno.execPath();
    // `--allow-run=deno` allows what the PATH has under that name, which may be a link to this program.
    const mayRun = Deno.permissions.querySync({ name: 'run', command: path }).state === 'granted';
    return [
      mayRun ? path : 'deno',
      'run',
      ...CHILD_PERMISSIONS,
      fileURLToPath(new URL('../main.deno.ts', import.meta.url)),
    ];
  },
};

/** Deno calls the scheme of a request on a socket of the file system `http+unix`. */
function withoutUnix(request: Request): Request {
  return new Request(request.url.replace(/^http\+unix:/, 'http:'), request);
}
