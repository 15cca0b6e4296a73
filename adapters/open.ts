import { tmpdir } from 'node:os';
import { ConfigError } from '../src/errors.ts';
import type { Finding } from '../src/findings/finding.ts';
import type { BlobStore } from '../src/image/store.ts';
import { masked } from '../src/lib/masked.ts';
import type { Runtime } from '../src/runtime/runtime.ts';
import type { OpenContext, RecordStores } from './adapter.ts';
import { adapterOf, filesAdapter, recordsAdapter } from './registry.ts';

/** Everything that is stored outside the process, and shared through it. */
export interface Stores extends RecordStores {
  blobs: BlobStore;
  /** With `limitsUrl`: rejects if the server there does not answer, or refuses. */
  askLimits?: () => Promise<unknown>;
}

/** By default, `folder` is that of the system for temporary files, and nothing is logged. */
export interface OpenOptions extends Partial<OpenContext> {
  runtime: Runtime;
  /** Where copies count requests together. Default: with the records. */
  limitsUrl?: string | undefined;
}

/**
 * Opens the stores that the URLs name, loading only the adapters in use.
 * @throws {AppError} `unavailable` if one cannot be opened.
 * @throws {ConfigError} with the URL if its adapter cannot parse it.
 */
export async function openStores(
  metadataUrl: string,
  blobsUrl: string,
  options: OpenOptions,
): Promise<Stores> {
  await requireStoreUrls({ [masked('BLOBS_URL', blobsUrl)]: blobsUrl });
  const blobs = await filesAdapter(blobsUrl).open(blobsUrl, contextOf(options));
  const records = await openRecords(metadataUrl, options);
  const { limitsUrl } = options;
  const limits =
    limitsUrl && (await recordsAdapter(limitsUrl).openLimiter?.(limitsUrl, contextOf(options).log));
  if (!limits) return { ...records, blobs };
  const close = () => Promise.all([records.close(), limits.close()]).then(() => {});
  return { ...records, limiter: limits.limiter, askLimits: limits.ask, close, blobs };
}

/**
 * Opens only the store of the records.
 * @throws {AppError} `unavailable` if it cannot be opened.
 */
export async function openRecords(url: string, options: OpenOptions): Promise<RecordStores> {
  await requireStoreUrls({ [masked('METADATA_URL', url)]: url });
  return recordsAdapter(url).open(url, contextOf(options));
}

/**
 * Returns which settings of the store at the URL can lose acknowledged changes, or make it unusable.
 * @throws {AppError} `unavailable` if it does not answer.
 */
export async function findingsOf(url: string, options: OpenOptions): Promise<Finding[]> {
  return adapterOf(url).findings(url, contextOf(options));
}

function contextOf(options: OpenOptions): OpenContext {
  return { credentials: undefined, folder: tmpdir(), log: () => {}, ...options };
}

/**
 * Parses the URLs of settings.
 * @throws {ConfigError} with the name of the first that its adapter cannot parse.
 */
export async function requireStoreUrls(urls: Readonly<Record<string, string | undefined>>): Promise<void> {
  for (const [variable, url] of Object.entries(urls)) {
    if (url === undefined) continue;
    const { check } = adapterOf(url);
    await Promise.try(check, url).catch((error: Error) => {
      throw new ConfigError([{ variable, message: `cannot be used: ${error.message}` }]);
    });
  }
}
