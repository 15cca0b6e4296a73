import { unlink } from 'node:fs/promises';
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
} from '@aws-sdk/client-s3';
import type { BlobStore } from '../../src/image/store.ts';
import { wholeBody } from './body.ts';
import { createClient, limited, type S3Credentials } from './client.ts';
import { isMissing, translate } from './errors.ts';
import { putFile } from './put.ts';
import { parseS3Url } from './url.ts';

/**
 * A `BlobStore` over S3, at the bucket and prefix of the URL (see `parseS3Url`). Bodies are streamed through; clients
 * never contact the server behind. A slash in a key becomes `!`, because servers that keep objects as files cannot
 * store both `a` and `a/b`. `credentials`: see `createClient`.
 * @throws {RangeError} if the URL is invalid.
 */
export function createS3Blobs(
  url: string,
  credentials: S3Credentials | undefined,
): BlobStore & { close(): void } {
  const address = parseS3Url(url);
  const client = createClient(address, credentials);
  const { bucket, prefix } = address;
  const target = (key: string) => ({ Bucket: bucket, Key: prefix + key.replaceAll('/', '!') });

  /** Opens the object from `start` on; `etag` makes sure that it has not changed. */
  async function open(key: string, start: number, end: number | undefined, etag?: string) {
    const whole = start === 0 && end === undefined;
    const command = new GetObjectCommand({
      ...target(key),
      ...(!whole && { Range: `bytes=${start}-${end === undefined ? '' : end - 1}` }),
      ...(etag && { IfMatch: etag }),
    });
    const answer = await limited(0, (limits) => client.send(command, limits).catch(nullIfMissing));
    if (!answer) return null;
    // With the fetch handler a body is a stream, or an empty Blob.
    const body = answer.Body as unknown;
    const stream = body instanceof ReadableStream ? body : new Blob([]).stream();
    return {
      stream: stream as ReadableStream<Uint8Array>,
      size: answer.ContentLength ?? 0,
      etag: answer.ETag,
    };
  }

  return {
    async put(key, path, mediaType) {
      await putFile(client, target(key), path, mediaType).catch((error: unknown) => {
        throw translate(error);
      });
      await unlink(path);
    },

    async get(key, range) {
      const [start, end] = [range?.start ?? 0, range?.end];
      const first = await open(key, start, end);
      if (!first) return null;
      return wholeBody(first.stream, first.size, async (offset) => {
        const rest = await open(key, start + offset, end ?? start + first.size, first.etag);
        if (!rest) throw translate(new Error('the object was removed while it was being read'));
        return rest.stream;
      });
    },

    async stat(key) {
      const command = new HeadObjectCommand(target(key));
      const head = await limited(0, (limits) => client.send(command, limits).catch(nullIfMissing));
      return head && { key, size: head.ContentLength ?? 0, modified: head.LastModified?.getTime() ?? 0 };
    },

    async remove(key) {
      const command = new DeleteObjectCommand(target(key));
      await limited(0, (limits) => client.send(command, limits).catch(nullIfMissing));
    },

    async move(key, to) {
      const source = target(key);
      const CopySource = encodeURIComponent(`${bucket}/${source.Key}`);
      const copy = new CopyObjectCommand({ ...target(to), CopySource });
      const copied = await limited(0, (limits) => client.send(copy, limits).catch(nullIfMissing));
      if (!copied) return false;
      await limited(0, (limits) => client.send(new DeleteObjectCommand(source), limits).catch(nullIfMissing));
      return true;
    },

    async *list() {
      let ContinuationToken: string | undefined;
      do {
        const command = new ListObjectsV2Command({
          Bucket: bucket,
          Prefix: prefix,
          ...(ContinuationToken && { ContinuationToken }),
        });
        const page = await limited(0, (limits) => client.send(command, limits));
        const infos = (page.Contents ?? []).map(({ Key = '', Size = 0, LastModified }) => ({
          key: Key.slice(prefix.length).replaceAll('!', '/'),
          size: Size,
          modified: LastModified?.getTime() ?? 0,
        }));
        if (infos.length > 0) yield infos;
        ContinuationToken = page.NextContinuationToken;
      } while (ContinuationToken);
    },

    close: () => client.destroy(),
  };
}

function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}
