import type { Tcp } from './tcp.ts';

/** The seam between picpool and the JavaScript runtime that carries it. `bun.ts` and `deno.ts` implement it. */
export interface Runtime {
  readonly name: 'bun' | 'deno';
  readonly version: string;
  /** Opens (and creates) a database file; `:memory:` makes a private one. */
  openSqlite(path: string): Promise<SqliteDatabase>;
  /**
   * Opens a database file on its own thread, for what would stop the event loop. Missing if the runtime may not read the
   * script of the thread.
   */
  readonly openSqliteThread: ((path: string) => SqliteThread) | undefined;
  /** Starts listening. Rejects when the address is taken. */
  serve(handler: Handler, options: ListenOptions): Promise<HttpServer>;
  /**
   * A file as a response body. `size` must be the real size: Bun sends a `Blob` of a file with sendfile,
   * Deno gets a stream. The file must exist; a range is `[start, end)` in bytes.
   */
  fileBody(path: string, start: number, end: number): Promise<Blob | ReadableStream<Uint8Array>>;
  /** System calls of Linux; `null` on other systems, and if the runtime does not allow them. */
  system(): Promise<System | null>;
  /** The command line (program and arguments) that starts this program again, to which arguments can be added. */
  selfCommand(): string[];
  /** Raw connections. Loaded on demand: the network costs a conversion process, which has none, half of its start. */
  tcp(): Promise<Tcp>;
}

/** System calls of Linux, made from the calling thread. */
export interface System {
  readonly arch: 'x64' | 'arm64';
  /** Makes a system call with numbers and addresses of bytes; answers its result, or the negative number of the error. */
  call(number: number, ...args: (number | bigint | Uint8Array)[]): number;
  /** Where the bytes lie, for as long as someone holds them. */
  address(bytes: Uint8Array): bigint;
}

/** Names of the C library: glibc, musl. */
export const C_LIBRARIES = ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1'];

/**
 * Answers one request. `peerOf` gives the address of the socket that this request came over, as the runtime spells it; it is
 * asked only when it is needed, for in Bun it costs as much as a fifth of an answer.
 */
export type Handler = (
  request: Request,
  peerOf: (request: Request) => string,
) => Response | Promise<Response>;

export type ListenOptions =
  | {
      hostname: string;
      /** 0 lets the system choose. */
      port: number;
    }
  | {
      /** A socket of the file system, which must not exist yet. Its peers have the address ``. */
      path: string;
    };

export interface HttpServer {
  /** Empty, and the port 0, where it listens on a socket of the file system. */
  readonly hostname: string;
  readonly port: number;
  /** Stops accepting. Running requests go on; resolves when the last has ended. */
  drain(): Promise<void>;
  /** Closes every connection at once. */
  close(): Promise<void>;
}

/** What `bun:sqlite` and `node:sqlite` have in common. */
export interface SqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

export type SqliteValue = string | number | bigint | null | Uint8Array;

/** A connection that answers later. If the thread cannot open the file, each query fails with the reason. */
export interface SqliteThread {
  /** Runs a statement after those that were asked before, and resolves with its rows. Rejects with what the driver throws. */
  all(sql: string, ...values: SqliteValue[]): Promise<unknown[]>;
  /** True once the thread answers nothing any more. */
  hasEnded(): boolean;
  /** Closes the file after all that was asked. */
  close(): Promise<void>;
}

export interface SqliteStatement {
  /** The first row, or `null` (Bun) or `undefined` (Deno) if there is none. */
  get(...values: SqliteValue[]): unknown;
  all(...values: SqliteValue[]): unknown[];
  /** Rows one at a time; the statement must not be used again until the iteration has ended. */
  iterate(...values: SqliteValue[]): IterableIterator<unknown>;
  run(...values: SqliteValue[]): { changes: number | bigint };
}
