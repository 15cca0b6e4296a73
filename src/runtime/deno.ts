import { chmodSync } from 'node:fs';
import { open } from 'node:fs/promises';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { System } from '../lib/linux/system.ts';
import { type Runtime, SOCKET_MODE, systemOf } from './runtime.ts';
import { openThread } from './sqlite-thread.ts';

/** The part of Deno's global that is used here. Its own types conflict with Bun's. */
declare const Deno: {
  version: { deno: string };
  execPath(): string;
  build: { os: string; arch: string; env?: string };
  permissions: {
    querySync(one: { name: string; command?: string; path?: string; kind?: string }): { state: string };
  };
  dlopen(
    path: string,
    symbols: Record<string, { parameters: string[]; result: string }>,
  ): { symbols: { syscall(...words: bigint[]): bigint; __errno_location(): object } };
  UnsafePointer: { of(bytes: Uint8Array): object; value(pointer: object): bigint };
  UnsafePointerView: new (pointer: object) => { getInt32(offset: number): number };
  serve(
    options: ({ hostname: string; port: number } | { path: string }) & {
      signal: AbortSignal;
      onListen(): void;
    },
    handler: (request: Request, info: { remoteAddr: { hostname?: string } }) => Response | Promise<Response>,
  ): { addr: { hostname?: string; port?: number }; finished: Promise<void>; shutdown(): Promise<void> };
};

const CHUNK_BYTES = 64 * 1024;

/** How soon the server listens again, in ms. */
const AGAIN_MS = 100;

/** The permissions that sharp needs. Native code could do more, but network and programs are not among them. */
const CHILD_PERMISSIONS = [
  '--no-prompt',
  '--allow-read',
  '--allow-write',
  '--allow-env',
  '--allow-ffi',
  '--allow-sys=uid',
];

// sharp looks here for the C library of a process whose files it cannot read. Deno's own report needs a socket.
process.report.getReport = () => ({
  header: { ...(Deno.build.env === 'gnu' && { glibcVersionRuntime: 'gnu' }) },
  sharedObjects: [`/lib/ld-${Deno.build.env}-${Deno.build.arch}.so.1`],
});

export const denoRuntime: Runtime = {
  name: 'deno',
  version: Deno.version.deno,

  async tcp() {
    return (await import('./node-tcp.ts')).nodeTcp;
  },

  async openSqlite(path) {
    return new DatabaseSync(path);
  },

  get openSqliteThread() {
    const script = new URL('./deno-sqlite-thread.ts', import.meta.url);
    const { state } = Deno.permissions.querySync({ name: 'read', path: fileURLToPath(script) });
    return state === 'granted' ? (path: string) => openThread(script, path) : undefined;
  },

  async serve(handler, where) {
    let abort = new AbortController();
    let isEnding = false;
    /** Answers to requests whose body may still arrive. */
    const receiving = new Set<Promise<Response>>();
    const serveAt = (place: typeof where) => {
      abort = new AbortController();
      return Deno.serve({ ...place, signal: abort.signal, onListen() {} }, (request, info) => {
        const answer = handler(
          'path' in where ? withoutUnix(request) : request,
          () => info.remoteAddr.hostname ?? '',
        );
        if (answer instanceof Promise && request.method !== 'GET' && !isEnding) {
          const forget = () => receiving.delete(answer);
          receiving.add(answer);
          answer.then(forget, forget);
        }
        return answer;
      });
    };
    let server = serveAt(where);
    /** Resolves when the requests of earlier listeners have ended. */
    let earlier = Promise.resolve();
    // Deno's own shutdown cuts the bodies that are still arriving.
    const retire = async (left: typeof server) => {
      while (receiving.size > 0) await Promise.allSettled(receiving);
      await left.shutdown();
    };
    // Without files for one more connection Deno gives up the listener, though not the connections that it has.
    const keepListening = async (): Promise<void> => {
      const place = { ...where, ...('port' in where && { port: server.addr.port ?? where.port }) };
      while (true) {
        const failure = await server.finished.catch((error: Error) => error);
        if (failure) await setTimeout(AGAIN_MS);
        if (!failure || isEnding) return;
        try {
          const left = server;
          server = serveAt(place);
          if ('path' in place) chmodSync(place.path, SOCKET_MODE);
          earlier = Promise.allSettled([earlier, retire(left)]).then(() => {});
        } catch (error) {
          // Otherwise there are still no files.
          if ((error as Error).name === 'AddrInUse') throw error;
        }
      }
    };
    void keepListening();
    return {
      hostname: server.addr.hostname ?? '',
      port: server.addr.port ?? 0,
      drain() {
        isEnding = true;
        return Promise.all([earlier, retire(server)]).then(() => {});
      },
      async close() {
        // Aborting a server that drains or has ended throws. The connections that remain end with the process.
        if (isEnding) return void server.shutdown().catch(() => {});
        isEnding = true;
        abort.abort();
        await server.finished.catch(() => {});
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

  async system() {
    const arch = { x86_64: 'x64', aarch64: 'arm64' }[Deno.build.arch] as System['arch'] | undefined;
    const mayCall = Deno.permissions.querySync({ name: 'ffi' }).state === 'granted';
    if (Deno.build.os !== 'linux' || arch === undefined || !mayCall) return null;
    return systemOf(arch, (name) => {
      const { symbols } = Deno.dlopen(name, {
        syscall: { parameters: Array(7).fill('i64'), result: 'i64' },
        __errno_location: { parameters: [], result: 'pointer' },
      });
      return {
        syscall: symbols.syscall,
        errno: () => new Deno.UnsafePointerView(symbols.__errno_location()).getInt32(0),
        address: (bytes) => BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes))),
      };
    });
  },

  get forbidden() {
    return ['setPriority', 'statfs', 'systemMemoryInfo'].flatMap((kind) =>
      Deno.permissions.querySync({ name: 'sys', kind }).state === 'granted' ? [] : [`--allow-sys=${kind}`],
    );
  },

  selfCommand() {
    const path = Deno.execPath();
    // `--allow-run=deno` allows whatever the PATH has under that name, which may be a link to this program.
    const mayRun = Deno.permissions.querySync({ name: 'run', command: path }).state === 'granted';
    return [
      mayRun ? path : 'deno',
      'run',
      ...CHILD_PERMISSIONS,
      fileURLToPath(new URL('../main.deno.ts', import.meta.url)),
    ];
  },
};

/** Deno uses the scheme `http+unix` for requests over a Unix socket. */
function withoutUnix(request: Request): Request {
  return new Request(request.url.replace(/^http\+unix:/, 'http:'), request);
}
