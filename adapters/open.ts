import { isDeepStrictEqual } from 'node:util';
import type { BlobStore } from '../src/image/store.ts';
import type { Runtime } from '../src/runtime/runtime.ts';
import type { Credentials, RecordStores } from './adapter.ts';
import { adapterOf, filesAdapter, recordsAdapter } from './registry.ts';

/** Everything that is kept outside the process, and what is shared through it. */
export interface Stores extends RecordStores {
  blobs: BlobStore;
}

const NO_CREDENTIALS: Credentials = { accessKeyId: undefined, secretAccessKey: undefined };

/**
 * Opens the stores that the URLs name; each adapter is loaded only when it is used.
 * @throws {AppError} `unavailable` where one cannot be opened.
 */
export async function openStores(
  metadataUrl: string,
  blobsUrl: string,
  runtime: Runtime,
  credentials = NO_CREDENTIALS,
): Promise<Stores> {
  const context = { runtime, credentials };
  const blobs = await filesAdapter(blobsUrl).open(blobsUrl, context);
  return { ...(await recordsAdapter(metadataUrl).open(metadataUrl, context)), blobs };
}

/** Whether two URLs name one store in other words. */
export async function isSameStore(one: string, other: string): Promise<boolean> {
  const adapter = adapterOf(one);
  if (adapter !== adapterOf(other)) return false;
  return isDeepStrictEqual(await adapter.place(one), await adapter.place(other));
}
