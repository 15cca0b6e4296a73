import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../errors.ts';
import { storageFull } from '../../lib/storage-full.ts';
import { readBody } from './body.ts';
import { cleanFilename } from './filename.ts';
import { FORM_OVERHEAD_BYTES, readForm } from './multipart.ts';

/** What a client sent, before anyone has looked whether it is a picture. */
export interface Upload {
  /** The temporary file. */
  path: string;
  /** Bytes of the file. */
  size: number;
  /** SHA-256 of the file, in hexadecimal. */
  hash: string;
  /** Cleaned; `null` where none was sent. */
  filename: string | null;
  /** Text fields of the form; empty for a raw body. */
  fields: Record<string, string>;
  /** Removes the file. Idempotent. */
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
 * Takes in an upload: the field `image` of a multipart form, or, whatever else the content type says, the body itself. The
 * bytes go to a file while they arrive.
 * @throws {AppError} `too_large`; `invalid_body` (broken, cut short, too slow); `invalid_parameter` naming `image` when nothing,
 * or more than one file, was sent; `storage_full`. No file is left then.
 */
export async function receiveUpload(request: Request, limits: UploadLimits): Promise<Upload> {
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
  const path = join(folder, `upload-${randomUUID()}`);
  const dispose = () => rm(path, { force: true });
  try {
    let size = 0;
    const hash = createHash('sha256');
    const file = await create(folder, path);
    const store = async (pieces: AsyncIterable<Uint8Array>) => {
      for await (const piece of pieces) {
        hash.update(piece);
        size += await append(file, piece);
      }
    };
    try {
      const form = isForm ? await readForm(type, body, maxBytes, store) : await store(body);
      if (size === 0) throw noImage();
      const filename = form?.filename ? cleanFilename(form.filename) : null;
      return { path, size, hash: hash.digest('hex'), filename, fields: form?.fields ?? {}, dispose };
    } finally {
      await file.close();
    }
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

function noImage(): AppError {
  const message = 'No image was sent.';
  return new AppError('invalid_parameter', message, { details: [{ field: 'image', message }] });
}
