import { AppError } from '../../src/errors.ts';
import type { FilesAdapter } from '../adapter.ts';

/** Image files on an S3 server: `s3://bucket/prefix?endpoint=https://s3.example`. */
export const s3: FilesAdapter = {
  schemes: ['s3:'],
  shared: true,
  advice: 'Look at the address in BLOBS_URL, the bucket, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
  path: () => null,

  async place(url) {
    const { endpoint, bucket, prefix } = (await import('./url.ts')).parseS3Url(url);
    return [endpoint && new URL(endpoint).host, bucket, prefix];
  },

  async open(url, { credentials: { accessKeyId, secretAccessKey } }) {
    if (!accessKeyId || !secretAccessKey) {
      throw new AppError(
        'unavailable',
        'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set where BLOBS_URL begins with s3:.',
      );
    }
    const { createS3Blobs } = await import('./blobs.ts');
    return createS3Blobs(url, { accessKeyId, secretAccessKey });
  },
};
