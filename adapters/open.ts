import { tmpdir } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import type { BlobStore } from '../src/image/store.ts';
import type { Log } from '../src/lib/logger.ts';
import type { Risk } from '../src/lib/risk.ts';
import type { Runtime } from '../src/runtime/runtime.ts';
import type { Credentials, OpenContext, RecordStores } from './adapter.ts';
import { adapterOf, filesAdapter, recordsAdapter } from './registry.ts';

/** Everything that is kept outside the process, and what is shared through it. */
export interface Stores extends RecordStores {
  blobs: BlobStore;
}

export interface OpenOptions {
  runtime: Runtime;
  /** When not given, the adapter asks its surroundings. */
  credentials?: Credentials | undefined;
  /** A replica that may answer lists and searches. */
  readUrl?: string | undefined;
  /** Where copies count requests together; with the records when not given. */
  limitsUrl?: string | undefined;
  /** For temporary files; that of the system when not given. */
  folder?: string;
  /** Hears of what an operator should know; nobody when not given. */
  log?: Log;
}

/**
 * Opens the stores that the URLs name; each adapter is loaded only when it is used.
 * @throws {AppError} `unavailable` if one cannot be opened.
 */
export async function openStores(
  metadataUrl: string,
  blobsUrl: string,
  options: OpenOptions,
): Promise<Stores> {
  const blobs = await filesAdapter(blobsUrl).open(blobsUrl, contextOf(options));
  const records = await openRecords(metadataUrl, options);
  const { limitsUrl } = options;
  const limits =
    limitsUrl === undefined ? undefined : await recordsAdapter(limitsUrl).openLimiter?.(limitsUrl);
  if (!limits) return { ...records, blobs };
  const close = async () => {
    await Promise.all([records.close(), limits.close()]);
  };
  return { ...records, limiter: limits.limiter, close, blobs };
}

/**
 * Opens the store of the records alone.
 * @throws {AppError} `unavailable` if it cannot be opened.
 */
export async function openRecords(url: string, options: OpenOptions): Promise<RecordStores> {
  return recordsAdapter(url).open(url, contextOf(options));
}

/**
 * What of the store at the URL can lose what was acknowledged, or keeps it from being used.
 * @throws {AppError} `unavailable` if it does not answer.
 */
export async function risksOf(url: string, options: OpenOptions): Promise<Risk[]> {
  return adapterOf(url).risks(url, contextOf(options));
}

function contextOf({
  runtime,
  credentials,
  readUrl,
  folder = tmpdir(),
  log = () => {},
}: OpenOptions): OpenContext {
  return { runtime, credentials, readUrl, folder, log };
}

/** Whether two URLs name one store in other words. */
export async function isSameStore(one: string, other: string): Promise<boolean> {
  const adapter = adapterOf(one);
  if (adapter !== adapterOf(other)) return false;
  return isDeepStrictEqual(await adapter.place(one), await adapter.place(other));
}
