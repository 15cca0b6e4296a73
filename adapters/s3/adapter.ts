import type { FilesAdapter } from '../adapter.ts';

/** Image files on an S3 server: `s3://bucket/prefix?endpoint=https://s3.example`. */
export const s3: FilesAdapter = {
  schemes: ['s3:'],
  shared: true,
  advice:
    'Check the address in BLOBS_URL, the bucket, the credentials (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, or a role) and their permissions.',
  path: () => null,

  check: async (url) => (await import('./url.ts')).parseS3Url(url),

  async open(url, { credentials, log }) {
    const { createS3Blobs } = await import('./blobs.ts');
    return createS3Blobs(url, credentials, log);
  },

  async findings(url, { credentials }) {
    const { createClient } = await import('./client.ts');
    const { parseS3Url } = await import('./url.ts');
    const { bucketFindings } = await import('./findings.ts');
    const address = parseS3Url(url);
    const client = createClient(address, credentials);
    return bucketFindings(client, address).finally(() => client.destroy());
  },
};
