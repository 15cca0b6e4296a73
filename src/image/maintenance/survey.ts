import type { StateStore } from '../../lib/state.ts';
import { readReviews } from '../review/reviews.ts';
import type { BlobStore, ImageStore } from '../store.ts';
import { type ImageFile, imageFiles } from './files.ts';

/** Maximum number of files without a record that one survey lists. The next one finds the rest. */
const MOST_NAMED = 10_000;

/** The files that exist, and what to do with some of them. */
export interface Survey {
  /** Files of images that are in place. */
  files: number;
  /** Originals that are in place, and whose record exists. */
  originals: number;
  /** Bytes of the smaller versions of images whose record exists. */
  versionBytes: number;
  /** Files in place without a record. */
  strays: ImageFile[];
  /** Files of deleted images, wherever they are. */
  buried: ImageFile[];
  /** Files in quarantine whose record has returned, and files in review whose picture is approved. */
  returned: ImageFile[];
  /** Files in quarantine, or in review although nobody is to decide on them, whose time is over. */
  expired: ImageFile[];
  /** All files that remain in quarantine. */
  quarantined: { files: number; bytes: number };
  /** True if all files were examined, and none was left out. */
  whole: boolean;
}

/** Returns how many files a sweep may move without being asked: 5% or 20, whichever is less, but at least three. */
export function mostUnasked(files: number): number {
  return Math.max(3, Math.min(20, Math.floor(files * 0.05)));
}

interface SurveyOptions {
  images: Pick<ImageStore, 'existing' | 'buried'>;
  blobs: Pick<BlobStore, 'list'>;
  state: Pick<StateStore, 'get'>;
  /** Files that went to quarantine before this time, in ms since 1970, have been there for long enough. */
  straysBefore: number;
}

/** Examines all files once, and changes none. Files written after `before` are not strays. */
export async function survey(
  { images, blobs, state, straysBefore }: SurveyOptions,
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
  for await (const { placed, quarantined, held } of imageFiles(blobs)) {
    if (signal.aborted) return { ...found, whole: false };
    const ids = [...new Set([...placed, ...quarantined, ...held].map(({ id }) => id))];
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
    const waiting = held.length > 0 ? (await readReviews(state)).map(({ id }) => id) : [];
    for (const file of held.filter(({ id }) => !waiting.includes(id))) {
      // Other files were mounted when it was approved.
      if (existing.has(file.id)) note(found.returned, file);
      else if (file.blob.modified < straysBefore) note(found.expired, file);
    }
    for (const file of quarantined) {
      if (existing.has(file.id)) note(found.returned, file);
      else if (buried.has(file.id)) note(found.buried, file);
      else if (file.blob.modified < straysBefore) note(found.expired, file);
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
