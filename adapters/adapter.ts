import type { AuditStore } from '../src/audit/store.ts';
import type { Finding } from '../src/findings/finding.ts';
import type { AlbumStore } from '../src/image/albums/album.ts';
import type { BlobStore, ImageStore } from '../src/image/store.ts';
import type { Locks } from '../src/lib/locks.ts';
import type { Log } from '../src/lib/logger.ts';
import type { RateLimiter } from '../src/lib/rate-limiter.ts';
import type { StateStore } from '../src/lib/state.ts';
import type { ProxyStore } from '../src/proxy/store.ts';
import type { Runtime } from '../src/runtime/runtime.ts';

/** The stores that `METADATA_URL` names: everything except image files, and what copies share through it. */
export interface RecordStores {
  proxies: ProxyStore;
  images: ImageStore;
  albums: AlbumStore;
  audit: AuditStore;
  state: StateStore;
  locks: Locks;
  limiter: RateLimiter;
  /** Returns the condition of the store as this process has seen it, without asking the store. */
  condition(): StoreCondition;
  /** Of a replica that serves lists: rejects if it does not answer. */
  askReads?: (() => Promise<unknown>) | undefined;
  close(): Promise<void>;
}

interface StoreCondition {
  /** Number of unreadable records that were found and skipped, by kind. */
  unreadable: Record<RecordKind, number>;
  /** By kind, how outdated this process's view is if it could not read from the server, in ms. */
  lagMs: Record<RecordKind, number>;
}

export type RecordKind = 'proxy' | 'image';

/** The condition of a store that this process reads directly. */
export const DIRECT: StoreCondition = {
  unreadable: { proxy: 0, image: 0 },
  lagMs: { proxy: 0, image: 0 },
};

/** Credentials for an S3 server. */
export interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  /** Set for temporary keys. */
  sessionToken?: string;
}

/** What an adapter may need besides its URL. */
export interface OpenContext {
  runtime: Runtime;
  /** Without them, the adapter uses the default sources of its provider's tools. */
  credentials: Credentials | undefined;
  /** A server that may answer lists and searches instead of the one in the URL. */
  readUrl?: string | undefined;
  /** Folder for copies of a server's data, which live as long as the process. */
  folder: string;
  /** Reports what an operator should know. */
  log: Log;
}

/** A kind of store and its URLs. Importing this must be cheap: only `open` imports the technology. */
export interface Adapter<Store> {
  /** The schemes of its URLs, each with its colon. */
  schemes: readonly string[];
  /** Whether the same URL on another machine names the same store. */
  shared: boolean;
  /** What an operator should check if the store cannot be used. */
  advice: string;
  /** Returns the absolute path of the URL's file or folder; `null` if it names none. */
  path(url: string): string | null;
  /** Throws, or rejects, if it cannot read the URL. */
  check(url: string): unknown;
  /**
   * Opens the store, creating it if possible.
   * @throws {AppError} `unavailable` if it cannot be opened, with `retryAfterMs` if that may be temporary.
   */
  open(url: string, context: OpenContext): Promise<Store>;
  /**
   * Asks the store which of its settings can lose acknowledged changes, or make it unusable.
   * @throws {AppError} `unavailable` if it does not answer.
   */
  findings(url: string, context: OpenContext): Promise<Finding[]>;
}

export interface RecordsAdapter extends Adapter<RecordStores> {
  /** Whether `readUrl` is supported. */
  readsElsewhere?: boolean;
  /** Opens only a limiter, which connects on first use. Missing if copies do not share one, or it is no faster. */
  openLimiter?(url: string, log: Log): Promise<OpenLimiter>;
  /**
   * Copies everything readable in a damaged store to a new one, which replaces it. Rejects with `unavailable` if it
   * is in use, or nothing can be read. Missing if the technology has no file of its own.
   */
  repair?(url: string, context: Pick<OpenContext, 'runtime'>): Promise<Repaired>;
}

interface OpenLimiter {
  limiter: RateLimiter;
  /** Asks the server as requests do. Rejects if it does not answer, or refuses. */
  ask(): Promise<unknown>;
  close(): Promise<void>;
}

/** The result of a repair. */
export interface Repaired {
  rows: Record<string, number>;
  /** Kinds of which some or all entries could not be read. */
  torn: string[];
  /** Path of the damaged file. */
  kept: string;
}

export type FilesAdapter = Adapter<BlobStore>;
