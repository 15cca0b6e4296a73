import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Codec } from '../../codec/codec.ts';
import type { PrivatePart, UploadWarning } from '../../codec/convert/warnings.ts';
import { EXTENSIONS } from '../../codec/format.ts';
import { AppError } from '../../errors.ts';
import type { Log } from '../../lib/logger.ts';
import { sha256 } from '../../lib/secret.ts';
import { type DeletionRights, tokenBy, type Uploader } from '../access/deletion-rights.ts';
import type { PasswordHasher } from '../access/password.ts';
import type { Conversion, ImageRecord, UploadOptions } from '../image.ts';
import { isUnclear, type Unfinished } from '../maintenance/unfinished.ts';
import { type AudienceRules, audienceOf } from '../records/audience.ts';
import { createDeleteToken, createId, type RandomBytes } from '../records/ids.ts';
import type { ImageFiles } from '../records/image-files.ts';
import type { ImageStore } from '../store.ts';
import type { Quota } from './quota.ts';
import type { ReceivedFile } from './upload.ts';

export interface StoringOptions {
  images: Pick<ImageStore, 'existing'>;
  files: Pick<ImageFiles, 'store'>;
  codec: Pick<Codec, 'convert'> & Partial<Pick<Codec, 'admit'>>;
  hasher: Pick<PasswordHasher, 'hash'>;
  rights: Pick<DeletionRights, 'ownerOf'>;
  rules: AudienceRules;
  /** Keeps uploads from filling the storage. */
  quota?: Pick<Quota, 'admit' | 'reserve'> | undefined;
  /** Rejects with `unavailable` while the files of the records are missing. */
  requireFiles: () => Promise<void>;
  /** Rejects with `forbidden` for a file, by its SHA-256 or its perceptual hash, that must not be stored. */
  mayStore: (hash: string, phash?: string | null) => Promise<void>;
  /** Rejects with `forbidden` for an uploaded file that must not be converted. */
  mayUpload?:
    | ((file: { path: string; sha256: string | undefined; peer: string }) => Promise<void>)
    | undefined;
  /**
   * Called with each picture, in the file at `path`, before it is stored. Returns true if it was taken over for
   * review. Rejects if it is refused.
   */
  holdBack?: ((image: ImageRecord, path: string, payer: string) => Promise<boolean>) | undefined;
  unfinished: Pick<Unfinished, 'settle'>;
  onStored: (image: ImageRecord) => void;
  random: RandomBytes;
  /** Folder for temporary files, ideally on the file system of the images if they are files. */
  folder: string;
  now: () => number;
  /** The time of what is stored, by which lists are ordered. */
  stamp: () => number;
  log: Log;
}

/** A received file, which stays there. */
type IncomingFile = Pick<ReceivedFile, 'path' | 'filename'> & Partial<Pick<ReceivedFile, 'hash'>>;

export function createStoring(options: StoringOptions) {
  const { images, files, codec, hasher, rights, rules, quota, mayStore, mayUpload, holdBack } = options;
  const { unfinished, onStored, requireFiles, random, folder, now, stamp, log } = options;

  async function freshId(): Promise<string> {
    for (;;) {
      const id = createId(random);
      if ((await images.existing([id])).size === 0) return id;
    }
  }

  /** Takes over the file at `path`. Returns true if it is in review. */
  async function keep(
    image: ImageRecord,
    path: string,
    payer: string,
    signal?: AbortSignal,
  ): Promise<boolean> {
    await requireFiles();
    const release = await quota?.reserve(image.size);
    try {
      if (await holdBack?.(image, path, payer)) return true;
      // Nobody would get the delete token.
      signal?.throwIfAborted();
      await files.store(image, path).catch(async (cause) => {
        // The uploader gets an error, and no delete token.
        if (isUnclear(cause)) await unfinished.settle('take-back', image);
        throw cause;
      });
      return false;
    } finally {
      release?.();
    }
  }

  return {
    /** Call before reading a body of at most this many bytes. Rejects with `storage_full`, `busy` or `unavailable`. */
    async admit(bytes: number, payer: string): Promise<void> {
      codec.admit?.(payer);
      await requireFiles();
      await quota?.admit(bytes);
    },

    /**
     * Converts and stores a file. Rejects with `forbidden` for a file that is blocked, with `invalid_parameter` for options
     * that contradict each other, with `storage_full`, and as the codec does.
     */
    async upload(
      { path, filename, hash: source }: IncomingFile,
      wanted: UploadOptions,
      from: Uploader,
      signal?: AbortSignal,
    ): Promise<Uploaded> {
      const { format, quality, stripExif, maxWidth, maxHeight, password, title, alt } = wanted;
      const audience = audienceOf(wanted, rules, now());
      if (source !== undefined) await mayStore(source);
      await mayUpload?.({ path, sha256: source, peer: from.peer });
      const id = await freshId();
      const output = join(folder, `${id}.out`);
      try {
        const made = await codec.convert(
          {
            ...{ input: path, output, format, stripExif, maxWidth, maxHeight, look: true },
            ...(quality !== null && { quality }),
          },
          { client: from.payer, ...(signal && { signal }) },
        );
        const { width, height, frames, size, hash, look, exif, removed, warnings, original } = made;
        const deleteToken = createDeleteToken(random);
        const at = stamp();
        const image: ImageRecord = {
          id,
          filename: filename ?? `${id}.${EXTENSIONS[made.format]}`,
          format: made.format,
          ...{ width, height, frames, size, hash },
          uploader: rights.ownerOf(from),
          passwordHash: password === null ? null : await hasher.hash(password),
          deleteTokenHash: sha256(deleteToken),
          createdAt: at,
          lastAccess: at,
          ...(look ?? { thumbhash: null, phash: null }),
          exif: exif && JSON.stringify(exif),
          made: JSON.stringify({ original, warnings, ...tokenBy(from) } satisfies Conversion),
          title,
          alt,
          ...audience,
        };
        await mayStore(hash, image.phash);
        signal?.throwIfAborted();
        const inReview = await keep(image, output, from.payer, signal);
        if (inReview) return { image, deleteToken, removed, warnings, inReview };
        log('info', 'image stored', { id, format: made.format, size, hash, source, peer: from.peer });
        onStored(image);
        return { image, deleteToken, removed, warnings };
      } finally {
        await rm(output, { force: true });
      }
    },
  };
}

/** The result of an upload, for its uploader only. */
export interface Uploaded {
  image: ImageRecord;
  /** Known only to the uploader: the server stores its hash. */
  deleteToken: string;
  removed: readonly PrivatePart[];
  /** What the conversion has lost, or what differs from the request. */
  warnings: readonly UploadWarning[];
  album?: string;
  /** True if nobody sees it before the administrator does. */
  inReview?: boolean;
}

/** The result of one file of a form. */
export type Outcome = { uploaded: Uploaded } | { filename: string | null; fault: AppError };

/**
 * Returns if at least one file was stored.
 * @throws {AppError} the error of the first file, with details of each.
 */
export function demandOne(outcomes: readonly Outcome[]): void {
  const faults = outcomes.flatMap((outcome) => ('fault' in outcome ? [outcome.fault] : []));
  const [first] = faults;
  if (first === undefined || faults.length < outcomes.length) return;
  const details = faults.map(({ said: message }, index) => ({ field: `image[${index}]`, message }));
  const wait = first.retryAfterMs === undefined ? {} : { retryAfterMs: first.retryAfterMs };
  throw new AppError(first.code, first.said, { details, ...wait, cause: first.cause });
}
