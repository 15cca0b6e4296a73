import type { System } from '../lib/linux/system.ts';
import type { Tcp } from './tcp.ts';

/** The interface between picpool and the JavaScript runtime. `bun.ts` and `deno.ts` implement it. */
export interface Runtime {
  readonly name: 'bun' | 'deno';
  readonly version: string;
  /** Opens a database file, creating it if necessary; `:memory:` opens a private one. */
  openSqlite(path: string): Promise<SqliteDatabase>;
  /**
   * Opens a database file in a separate thread, for queries that would block the event loop. Missing if the runtime
   * may not read the thread's script.
   */
  readonly openSqliteThread: ((path: string) => SqliteThread) | undefined;
  /** Starts listening. Rejects if the address is taken. */
  serve(handler: Handler, options: ListenOptions): Promise<HttpServer>;
  /**
   * Returns the bytes of a file from `start` to before `end` as a response body: Bun sends a `Blob` of a file with
   * sendfile, Deno gets a stream. The file must exist, and have as many.
   */
  fileBody(path: string, start: number, end: number): Promise<Blob | ReadableStream<Uint8Array>>;
  /** System calls of Linux; `null` on other systems, and if the runtime does not allow them. */
  system(): Promise<System | null>;
  /** Permissions to ask the system that Deno does not have; without them, an answer would be taken for a good one. */
  readonly forbidden?: readonly string[];
  /**
   * Returns the command line (program and arguments) that starts this program again, to which arguments can be added.
   */
  selfCommand(): string[];
  /**
   * Raw connections, loaded on demand: in a conversion process, which needs none, loading the network would double
   * the start time.
   */
  tcp(): Promise<Tcp>;
}

/** What a runtime opens of a C library. */
interface Library {
  /** Calls it with a number and six arguments, however many the call takes. */
  syscall(...words: bigint[]): bigint;
  errno(): number;
  address: System['address'];
}

/** Names of the C library: glibc, musl. */
const C_LIBRARIES = ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1'];

/** Returns the system calls of the first C library that opens. */
export function systemOf(arch: System['arch'], open: (name: string) => Library): System | null {
  for (const name of C_LIBRARIES) {
    try {
      const { syscall, errno, address } = open(name);
      const call: System['call'] = (number, ...args) => {
        const words = Array.from({ length: 6 }, (_, index) => {
          const arg = args[index] ?? 0;
          return typeof arg === 'object' ? address(arg) : BigInt(arg);
        });
        const result = Number(syscall(BigInt(number), ...words));
        return result === -1 ? -errno() : result;
      };
      return { arch, call, address };
    } catch {
      // Another C library: try the next name.
    }
  }
  return null;
}

/**
 * Answers one request. `peerOf` returns the address of this request's socket, as the runtime spells it. It is called
 * only when needed, because in Bun it costs up to a fifth of an answer.
 */
export type Handler = (
  request: Request,
  peerOf: (request: Request) => string,
) => Response | Promise<Response>;

/** Mode of a Unix socket: members of the server's group, such as a reverse proxy, may connect. */
export const SOCKET_MODE = 0o660;

type ListenOptions =
  | {
      hostname: string;
      /** 0 lets the system choose. */
      port: number;
    }
  | {
      /** A Unix socket, which must not exist yet. Its peers have an empty address. */
      path: string;
    };

export interface HttpServer {
  /** Empty, with the port 0, if it listens on a Unix socket. */
  readonly hostname: string;
  readonly port: number;
  /** Stops accepting. Resolves when the last running request has ended. */
  drain(): Promise<void>;
  /** Closes every connection at once; after `drain`, perhaps only with the process. */
  close(): Promise<void>;
}

/** The common part of `bun:sqlite` and `node:sqlite`. */
export interface SqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  close(): void;
}

export type SqliteValue = string | number | bigint | null | Uint8Array;

/** An asynchronous connection. If the thread cannot open the file, each query fails with the reason. */
export interface SqliteThread {
  /** Runs a statement after all earlier ones, and resolves with its rows. Rejects with the driver's error. */
  all(sql: string, ...values: SqliteValue[]): Promise<unknown[]>;
  /** Reports whether the thread no longer answers. */
  hasEnded(): boolean;
  /** Closes the file after all earlier statements. */
  close(): Promise<void>;
}

export interface SqliteStatement {
  /** The first row, or `null` (Bun) or `undefined` (Deno) if there is none. */
  get(...values: SqliteValue[]): unknown;
  all(...values: SqliteValue[]): unknown[];
  run(...values: SqliteValue[]): { changes: number | bigint };
  /** Frees the statement. Without that, Bun keeps the file open after `close()`; Deno does it itself. */
  finalize?(): void;
}
