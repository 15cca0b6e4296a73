import { randomUUID } from 'node:crypto';
import type { Credentials } from '../../../adapters/adapter.ts';
import { createS3Blobs } from '../../../adapters/s3/blobs.ts';
import { blobStoreConformance } from '../../conformance/blob-store.ts';
import type { Test } from '../runner.ts';

/** The URL with a folder in the bucket that no one else uses. */
export function withFolderOfItsOwn(url: string): string {
  const own = new URL(url);
  own.pathname = `${own.pathname.replace(/\/$/, '')}/${randomUUID()}`;
  return own.href;
}

/** The suite for S3, each test in a folder of its own. */
export function s3Conformance(
  test: Test,
  server: () => Promise<{ url: string; credentials: Credentials }>,
): void {
  blobStoreConformance(test, async () => {
    const { url, credentials } = await server();
    const store = createS3Blobs(withFolderOfItsOwn(url), credentials);
    return { store, close: async () => {} };
  });
}
