import type { AlbumStore } from '../src/image/albums/store.ts';
import type { BlobStore, ImageStore } from '../src/image/store.ts';
import type { Locks } from '../src/lib/locks.ts';
import type { Log } from '../src/lib/logger.ts';
import type { RateLimiter } from '../src/lib/rate-limiter.ts';
import type { Risk } from '../src/lib/risk.ts';
import type { StateStore } from '../src/lib/state.ts';
import type { ProxyStore } from '../src/proxy/store.ts';
import type { Runtime } from '../src/runtime/runtime.ts';

/** What `METADATA_URL` names: everything that is kept but for the image files, and what copies share through it. */
export interface RecordStores {
  proxies: ProxyStore;
  images: ImageStore;
  albums: AlbumStore;
  state: StateStore;
  locks: Locks;
  limiter: RateLimiter;
  /** How the store does, as this process has seen it. Asks nothing of it. */
  condition(): StoreCondition;
  close(): Promise<void>;
}

export interface StoreCondition {
  /** Records that were met and cannot be read, by kind. They are passed over. */
  unreadable: Record<RecordKind, number>;
  /** By kind, how old what this process shows is where it could not look at the store since, in ms. */
  lagMs: Record<RecordKind, number>;
}

export type RecordKind = 'proxy' | 'image';

/** Of a store that this process reads directly. */
export const DIRECT: StoreCondition = {
  unreadable: { proxy: 0, image: 0 },
  lagMs: { proxy: 0, image: 0 },
};

/** Credentials for an S3 server. */
export interface Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  /** Goes with keys that end after some hours. */
  sessionToken?: string;
}

/** What an adapter may need besides its URL. */
export interface OpenContext {
  runtime: Runtime;
  /** Without them the adapter asks its surroundings, as the tools of its provider do. */
  credentials: Credentials | undefined;
  /** A server that may answer lists and searches instead of the one of the URL. */
  readUrl?: string | undefined;
  /** For copies of what a server holds, which end with the process. */
  folder: string;
  /** Hears of what an operator should know. */
  log: Log;
}

/**
 * A kind of store and the URLs that name one. Reading this must be cheap: what the technology needs is imported by
 * `open` alone.
 */
export interface Adapter<Store> {
  /** How its URLs begin, each with its colon. */
  schemes: readonly string[];
  /** Whether the same URL on another machine names the same store. */
  shared: boolean;
  /** What an operator should look at if the store cannot be used. */
  advice: string;
  /** Absolute path of the file or folder that the URL names; `null` if it names none. */
  path(url: string): string | null;
  /** The parts of the URL that tell the store from others: equal for two spellings of one store. */
  place(url: string): Promise<readonly unknown[]>;
  /**
   * Opens the store, and makes it where it can.
   * @throws {AppError} `unavailable` if it cannot be opened, with `retryAfterMs` where it may be there later.
   */
  open(url: string, context: OpenContext): Promise<Store>;
  /**
   * Asks the store what of its settings can lose what was acknowledged, or keeps it from being used.
   * @throws {AppError} `unavailable` if it does not answer.
   */
  risks(url: string, context: OpenContext): Promise<Risk[]>;
}

export interface RecordsAdapter extends Adapter<RecordStores> {
  /** True if `readUrl` is understood. */
  readsElsewhere?: boolean;
  /** A limiter alone, which connects when it is first asked. Missing if copies share none, or it is no quicker. */
  openLimiter?(url: string): Promise<OpenLimiter>;
  /**
   * Brings what can be read of a damaged store into a new one, which takes its place. Rejects with `unavailable` if it is in
   * use, or nothing can be read. Missing if the technology has no file of its own.
   */
  repair?(url: string, context: Pick<OpenContext, 'runtime'>): Promise<Repaired>;
}

export interface OpenLimiter {
  limiter: RateLimiter;
  close(): Promise<void>;
}

/** What a repair has come to. */
export interface Repaired {
  /** How many entries could be read, by kind. */
  rows: Record<string, number>;
  /** Kinds of which a part, or all, could not be read. */
  torn: string[];
  /** Where the damaged file is now. */
  kept: string;
}

export type FilesAdapter = Adapter<BlobStore>;
