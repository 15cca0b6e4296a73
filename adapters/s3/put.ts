import { type FileHandle, open } from 'node:fs/promises';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { limited } from './client.ts';

/** Larger files are sent in parts of this size, one at a time, so that only one part is in memory. */
const PART_BYTES = 8 * 1024 * 1024;

interface Target {
  Bucket: string;
  Key: string;
}

/** Uploads the file. The object only exists once all of it has arrived. */
export async function putFile(
  client: S3Client,
  target: Target,
  path: string,
  mediaType: string,
): Promise<void> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size > PART_BYTES) return await putParts(client, target, file, size, mediaType);
    const Body = await readPart(file, 0, size);
    const command = new PutObjectCommand({ ...target, Body, ContentType: mediaType });
    await limited(size, (limits) => client.send(command, limits));
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
    await limited(0, (limits) => client.send(complete, limits));
  } catch (error) {
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
