import type { BlobStore, ImageStore } from '../store.ts';
import { type ImageFile, imageFiles } from './files.ts';

/** Files without a record that one survey names; those after them are found by the next one. */
const MOST_NAMED = 10_000;

/** What there is of files, and what is to be done with some of them. */
export interface Survey {
  /** Files of images in their places. */
  files: number;
  /** Files in their places that are an image itself, and whose record is there. */
  originals: number;
  /** Bytes of the smaller versions of images whose record is there. */
  versionBytes: number;
  /** In their places, without a record. */
  strays: ImageFile[];
  /** Of images that were deleted, wherever they are. */
  buried: ImageFile[];
  /** In quarantine, their record is there again. */
  returned: ImageFile[];
  /** In quarantine for longer than they are kept. */
  expired: ImageFile[];
  /** All in quarantine that stay there. */
  quarantined: { files: number; bytes: number };
  /** True if all were looked at, and none was left out. */
  whole: boolean;
}

/** So many files a sweep may put away without being asked: 5 % or 20, whichever is less, but three at any rate. */
export function mostUnasked(files: number): number {
  return Math.max(3, Math.min(20, Math.floor(files * 0.05)));
}

export interface SurveyOptions {
  images: Pick<ImageStore, 'existing' | 'buried'>;
  blobs: Pick<BlobStore, 'list'>;
  strayRetentionMs: number;
  now: () => number;
}

/** Looks at all files once and changes none. Files that were written after `before` are no strays. */
export async function survey(
  { images, blobs, strayRetentionMs, now }: SurveyOptions,
  before: number,
  signal: AbortSignal,
): Promise<Survey> {
  const found: Survey = {
    files: 0,
    originals: 0,
    versionBytes: 0,
    strays: [],
    buried: [],
    returned: [],
    expired: [],
    quarantined: { files: 0, bytes: 0 },
    whole: true,
  };
  for await (const { placed, quarantined } of imageFiles(blobs)) {
    if (signal.aborted) return { ...found, whole: false };
    const ids = [...new Set([...placed, ...quarantined].map(({ id }) => id))];
    const existing = await images.existing(ids);
    const buried = await images.buried(ids.filter((id) => !existing.has(id)));
    for (const file of placed) {
      found.files++;
      if (existing.has(file.id)) {
        if (file.original) found.originals++;
        else found.versionBytes += file.blob.size;
      } else if (buried.has(file.id)) note(found.buried, file);
      else if (file.blob.modified < before) note(found.strays, file);
    }
    for (const file of quarantined) {
      if (existing.has(file.id)) note(found.returned, file);
      else if (buried.has(file.id)) note(found.buried, file);
      else if (file.blob.modified < now() - strayRetentionMs) note(found.expired, file);
      else {
        found.quarantined.files++;
        found.quarantined.bytes += file.blob.size;
      }
    }
  }
  return found;

  function note(list: ImageFile[], file: ImageFile): void {
    if (list.length < MOST_NAMED) list.push(file);
    else found.whole = false;
  }
}
