import { type FileHandle, open, unlink } from 'node:fs/promises';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { AppError, inEnglish } from '../../src/errors.ts';
import type { BlobInfo, BlobStore } from '../../src/image/store.ts';
import { within } from '../../src/lib/deadline.ts';
import type { Log } from '../../src/lib/logger.ts';
import type { Credentials } from '../adapter.ts';
import { createClient, type Limits, limited } from './client.ts';
import { isMissing, translate } from './errors.ts';
import { parseS3Url } from './url.ts';

/**
 * A `BlobStore` over S3, at the bucket and prefix of the URL (see `parseS3Url`). Bodies are streamed through; clients
 * never contact the server behind. A slash in a key becomes `!`, because servers that keep objects as files cannot
 * store both `a` and `a/b`. `credentials`: see `createClient`.
 * @throws {RangeError} if the URL is invalid.
 */
export function createS3Blobs(
  url: string,
  credentials: Credentials | undefined,
  log: Log = () => {},
): BlobStore {
  const address = parseS3Url(url);
  const client = createClient(address, credentials);
  const { bucket, prefix } = address;
  const target = (key: string) => ({ Bucket: bucket, Key: prefix + key.replaceAll('/', '!') });

  async function remove(key: string): Promise<void> {
    const command = new DeleteObjectCommand(target(key));
    await limited(0, (limits) => client.send(command, limits).catch(nullIfMissing));
  }

  async function infoOf(key: string): Promise<BlobInfo | null> {
    const { Bucket, Key } = target(key);
    const command = new HeadObjectCommand({ Bucket, Key });
    const head = await limited(0, (limits) => client.send(command, limits).catch(nullIfMissing));
    if (head === null) return null;
    demand(head.ETag ?? head.LastModified);
    const modified = head.LastModified?.getTime() ?? 0;
    if (head.ContentLength !== undefined) return { key, size: head.ContentLength, modified };
    // Something in between may have removed the length. Of all names that begin with this one, it is the first.
    const list = new ListObjectsV2Command({ Bucket, Prefix: Key, MaxKeys: 1 });
    const [first] = (await limited(0, (limits) => client.send(list, limits))).Contents ?? [];
    if (first?.Key === Key && first.Size !== undefined) return { key, size: first.Size, modified };
    throw translate(new Error('the S3 server does not tell the length of an object'));
  }

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
    demand(answer.ETag ?? answer.LastModified);
    // With the fetch handler a body is a stream, or an empty Blob.
    const body = answer.Body as unknown;
    const stream = body instanceof ReadableStream ? body : new Blob([]).stream();
    // Something in between may have removed the length, or ignored the range.
    const said = /^bytes (\d+)-(\d+)\/(\d+)/.exec(answer.ContentRange ?? '');
    const [first, last, total] = said?.slice(1).map(Number) ?? [];
    const ranged = said ? Number(last) + 1 - Number(first) : undefined;
    const size = answer.ContentLength ?? ranged ?? (await infoOf(key))?.size;
    if (size === undefined) return null;
    if (!whole && (first !== start || Number(last) + 1 !== (end ?? Number(total)))) {
      stream.cancel().catch(() => {});
      throw translate(new Error('the S3 server ignored the range, or the object was cut'));
    }
    return { stream: stream as ReadableStream<Uint8Array>, size, etag: answer.ETag };
  }

  return {
    async put(key, path, mediaType) {
      await putFile(client, target(key), path, mediaType).catch((error: unknown) => {
        throw translate(error);
      });
      await unlink(path);
    },

    async get(key, range, size) {
      const [start, end] = [range?.start ?? 0, range?.end];
      const first = await open(key, start, end);
      if (!first) return null;
      const reopen = async (offset: number) => {
        const rest = await open(key, start + offset, end ?? start + first.size, first.etag);
        if (!rest) throw translate(new Error('the object was removed while it was being read'));
        return rest.stream;
      };
      const tell = (cause: unknown) => log('error', 'file of an image broke off', { key, cause });
      return wholeBody(first, size ?? first.size, reopen, tell);
    },

    stat: infoOf,
    remove,

    async move(key, to) {
      const CopySource = encodeURIComponent(`${bucket}/${target(key).Key}`);
      const copy = new CopyObjectCommand({ ...target(to), CopySource });
      const send = (limits: Limits) => client.send(copy, limits).catch(nullIfMissing);
      const copied = await limited(0, send, ASSEMBLY_MS);
      if (!copied) return false;
      demand(copied.CopyObjectResult?.ETag);
      await remove(key);
      return true;
    },

    async *list() {
      let ContinuationToken: string | undefined;
      do {
        const from = ContinuationToken && { ContinuationToken };
        const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix, ...from });
        const page = await limited(0, (limits) => client.send(command, limits));
        const infos = (page.Contents ?? []).map(({ Key = '', Size = 0, LastModified }) => ({
          key: Key.slice(prefix.length).replaceAll('!', '/'),
          size: Size,
          modified: LastModified?.getTime() ?? 0,
        }));
        if (infos.length > 0) yield infos;
        // A server that does not know the token sends the first page again, without end; another one says nothing of an end.
        const more = page.NextContinuationToken;
        if (page.IsTruncated !== false && (!more || more === ContinuationToken)) {
          throw translate(new Error('the S3 server broke off its list'));
        }
        ContinuationToken = more;
      } while (ContinuationToken);
    },
  };
}

/**
 * Rejects an answer without a part that every S3 server sends. Something in between may answer 200 itself, such as with a
 * page that says to come back later: a file would count as stored, and be removed as copied.
 */
function demand(part: unknown): void {
  if (part === undefined) throw translate(new Error('the answer is not that of an S3 server'));
}

function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}

/** Larger files are sent in parts of this size, one at a time, so that only one part is in memory. */
const PART_BYTES = 8 * 1024 * 1024;

/** Servers need time to copy an object, or its parts into one. */
const ASSEMBLY_MS = 30_000;

interface Target {
  Bucket: string;
  Key: string;
}

/** Uploads the file. The object only exists once all of it has arrived. */
async function putFile(client: S3Client, target: Target, path: string, mediaType: string): Promise<void> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size > PART_BYTES) return await putParts(client, target, file, size, mediaType);
    const Body = await readPart(file, 0, size);
    const command = new PutObjectCommand({ ...target, Body, ContentType: mediaType });
    demand((await limited(size, (limits) => client.send(command, limits))).ETag);
  } finally {
    await file.close();
  }
}

async function putParts(
  client: S3Client,
  target: Target,
  file: FileHandle,
  size: number,
  mediaType: string,
): Promise<void> {
  const create = new CreateMultipartUploadCommand({ ...target, ContentType: mediaType });
  const { UploadId } = await limited(0, (limits) => client.send(create, limits));
  demand(UploadId);
  const upload = { ...target, UploadId };
  try {
    const Parts: { PartNumber: number; ETag: string | undefined }[] = [];
    for (let start = 0; start < size; start += PART_BYTES) {
      const PartNumber = Parts.length + 1;
      const Body = await readPart(file, start, Math.min(PART_BYTES, size - start));
      const part = new UploadPartCommand({ ...upload, PartNumber, Body });
      const { ETag } = await limited(Body.length, (limits) => client.send(part, limits));
      Parts.push({ PartNumber, ETag });
    }
    const complete = new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } });
    demand((await limited(0, (limits) => client.send(complete, limits), ASSEMBLY_MS)).ETag);
  } catch (error) {
    // The server may have assembled it, although its answer was lost or late.
    const head = new HeadObjectCommand(target);
    const there = await limited(0, (limits) => client.send(head, limits)).catch(() => null);
    if (there?.ContentLength === size && there.ETag?.endsWith(`-${Math.ceil(size / PART_BYTES)}"`)) return;
    // What cannot be cleaned up here is left to the bucket's lifecycle rules.
    const abort = new AbortMultipartUploadCommand(upload);
    await limited(0, (limits) => client.send(abort, limits)).catch(() => {});
    throw error;
  }
}

async function readPart(file: FileHandle, start: number, length: number): Promise<Uint8Array> {
  const part = new Uint8Array(length);
  for (let filled = 0; filled < length; ) {
    const { bytesRead } = await file.read(part, filled, length - filled, start + filled);
    if (bytesRead === 0) throw new Error('the file was truncated while it was being sent');
    filled += bytesRead;
  }
  return part;
}

/** Time limit for the server to deliver the next data. */
const IDLE_MS = 10_000;
/** How often an interrupted body is resumed. */
const MAX_RESUMES = 2;

/** Opens a body of the server at an offset. */
type OpenBody = (offset: number) => Promise<ReadableStream<Uint8Array>>;

/**
 * Returns the `size` bytes of `first` as a stream that fails rather than ends early. If the body is interrupted,
 * requests the rest. Reads only as fast as it is read. `onEnd`: called if it ends early, as the answer has begun and
 * cannot say why.
 * @throws {AppError} `unavailable` if that is not its size.
 */
function wholeBody(
  first: { stream: ReadableStream<Uint8Array>; size: number },
  size: number,
  reopen: OpenBody,
  onEnd: (cause: unknown) => void,
): ReadableStream<Uint8Array> {
  let reader = first.stream.getReader();
  if (first.size !== size) {
    reader.cancel().catch(() => {});
    const cause = new Error(`the object has ${first.size} bytes instead of ${size}`);
    const said = inEnglish('The file of this image is damaged.');
    throw new AppError('unavailable', said, { lasting: true, cause });
  }
  let offset = 0;
  let resumes = 0;
  let left = false;

  async function nextChunk(): Promise<Uint8Array> {
    for (;;) {
      try {
        if (left) throw new Error('the client has left');
        const { value } = await within(IDLE_MS, reader.read(), 'the S3 server stopped sending');
        if (value && offset + value.length <= size) return value;
        throw new Error(value ? 'the body is longer than announced' : 'the body was truncated');
      } catch (error) {
        reader.cancel().catch(() => {});
        if (left || resumes++ >= MAX_RESUMES) throw translate(error);
        reader = (await reopen(offset)).getReader();
      }
    }
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (offset < size) {
          const chunk = await nextChunk().catch((error: Error) => {
            if (!left) onEnd(error.cause ?? error);
            throw error;
          });
          offset += chunk.length;
          controller.enqueue(chunk);
        }
        if (offset === size) {
          controller.close();
          reader.cancel().catch(() => {});
        }
      },
      cancel(reason) {
        left = true;
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
