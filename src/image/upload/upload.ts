import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../errors.ts';
import { storageFull } from '../../lib/storage-full.ts';
import { readBody, tooLarge } from './body.ts';
import { cleanFilename } from './filename.ts';
import { FORM_OVERHEAD_BYTES, readForm } from './multipart.ts';

/** A file that a client sent, before anyone has looked whether it is a picture. */
export interface ReceivedFile {
  /** The temporary file. */
  path: string;
  /** Bytes of the file. */
  size: number;
  /** SHA-256 of the file, in hexadecimal. */
  hash: string;
  /** Cleaned; `null` where none was sent. */
  filename: string | null;
}

/** What a client sent. */
export interface Received {
  /** At least one; only of several may some be empty. */
  files: ReceivedFile[];
  /** Text fields of the form; empty for a raw body. */
  fields: Record<string, string>;
  /** Removes the files. Idempotent. */
  dispose(): Promise<void>;
}

export interface UploadLimits {
  /** Of the picture. */
  maxBytes: number;
  /** For temporary files; created with mode 0700 where it is missing. */
  folder: string;
  signal?: AbortSignal;
  /** Longest pause in a body; 30 s by default. */
  idleMs?: number;
  /** Longest time of a body; 5 minutes by default. */
  totalMs?: number;
}

/**
 * Takes in an upload: the fields `image` of a multipart form, or, whatever else the content type says, the body itself. The
 * bytes go to files while they arrive; all together are at most `maxBytes`.
 * @throws {AppError} `too_large`; `invalid_body` (broken, cut short, too slow); `invalid_parameter` naming `image` when nothing,
 * or too many files, were sent; `storage_full`. No file is left then.
 */
export async function receiveUpload(request: Request, limits: UploadLimits): Promise<Received> {
  const { maxBytes, folder, signal, idleMs = 30_000, totalMs = 300_000 } = limits;
  const type = request.headers.get('content-type') ?? '';
  const isForm = /^multipart\/form-data\s*(;|$)/i.test(type);
  const body = readBody(request, {
    maxBytes,
    spareBytes: isForm ? FORM_OVERHEAD_BYTES : 0,
    idleMs,
    totalMs,
    signal,
  });
  const paths: string[] = [];
  let total = 0;
  const dispose = async () => {
    await Promise.all(paths.map((path) => rm(path, { force: true })));
  };
  const store = async (pieces: AsyncIterable<Uint8Array>) => {
    const path = join(folder, `upload-${randomUUID()}`);
    paths.push(path);
    let size = 0;
    const hash = createHash('sha256');
    const file = await create(folder, path);
    try {
      for await (const piece of pieces) {
        total += piece.byteLength;
        // To leave now would break the form; its rest is short.
        if (total > maxBytes) continue;
        hash.update(piece);
        size += await append(file, piece);
      }
    } finally {
      await file.close();
    }
    if (total > maxBytes) throw tooLarge(maxBytes);
    return { path, size, hash: hash.digest('hex') };
  };
  try {
    const { files, fields } = isForm
      ? await readForm(type, body, maxBytes, store)
      : { files: [{ filename: null, stored: await store(body) }], fields: {} };
    if (files.length === 1 && files[0]?.stored.size === 0) throw noImage();
    const cleaned = files.map(({ filename, stored }) => ({
      ...stored,
      filename: filename === null ? null : cleanFilename(filename),
    }));
    return { files: cleaned, fields, dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

async function create(folder: string, path: string): Promise<FileHandle> {
  try {
    return await open(path, 'wx', 0o600);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return open(path, 'wx', 0o600);
  }
}

async function append(file: FileHandle, piece: Uint8Array): Promise<number> {
  try {
    let written = 0;
    while (written < piece.byteLength) written += (await file.write(piece, written)).bytesWritten;
    return written;
  } catch (cause) {
    throw storageFull(cause, 'There is no space left for the upload.');
  }
}

/** The file has no bytes. */
export function noImage(): AppError {
  const message = 'No image was sent.';
  return new AppError('invalid_parameter', message, { details: [{ field: 'image', message }] });
}
