import type { Log } from '../../lib/logger.ts';
import type { StateStore } from '../../lib/state.ts';
import { ownerOfKey } from '../blob-keys.ts';
import type { BlobStore, ImageStore } from '../store.ts';
import { IDENTITY_BLOB, IDENTITY_STATE, readMark } from './store-identity.ts';

/** How long an answer of `recent` is believed, in ms. */
const BELIEVED_MS = 10_000;

/**
 * Reasons to remove nothing. Where records and files do not belong together beyond doubt, a file without a record is not
 * a leftover: the record may have been lost.
 */
export interface Doubts {
  /** Looks at both stores. Returns the reasons in sentences for the operator; none where all is well. */
  look(): Promise<readonly string[]>;
  /** The reasons, at most ten seconds old. */
  recent(): Promise<readonly string[]>;
}

export interface DoubtsOptions {
  state: Pick<StateStore, 'get'>;
  blobs: Pick<BlobStore, 'get' | 'list'>;
  images: Pick<ImageStore, 'faults' | 'summary'>;
  now: () => number;
  log: Log;
}

export function createDoubts({ state, blobs, images, now, log }: DoubtsOptions): Doubts {
  let logged = '';
  let last: { at: number; reasons: Promise<readonly string[]> } | null = null;

  async function look(): Promise<readonly string[]> {
    const reasons = await reasonsNow();
    const text = reasons.join(' ');
    if (text !== logged) {
      if (reasons.length > 0) log('error', 'image files are not removed', { reasons });
      else log('info', 'image files may be removed again');
    }
    logged = text;
    return reasons;
  }

  async function reasonsNow(): Promise<string[]> {
    const [marked, known] = [await readMark(blobs), await state.get(IDENTITY_STATE)];
    const reasons = await images.faults();
    if (known === null)
      reasons.push(`The records have lost the value ${IDENTITY_STATE}: they may be empty or others.`);
    else if (marked === null)
      reasons.push(`The files have lost the mark ${IDENTITY_BLOB}: they may be empty or others.`);
    else if (marked !== known) reasons.push('The files belong to other records than these.');
    if (reasons.length === 0 && (await images.summary()).images === 0 && (await hasImages())) {
      reasons.push('There is no record, but there are files of images.');
    }
    return reasons;
  }

  async function hasImages(): Promise<boolean> {
    for await (const batch of blobs.list()) {
      if (batch.some(({ key }) => ownerOfKey(key) !== null)) return true;
    }
    return false;
  }

  return {
    look,
    recent() {
      if (!last || Math.abs(now() - last.at) >= BELIEVED_MS) {
        const asked = { at: now(), reasons: look() };
        last = asked;
        asked.reasons.catch(() => {
          if (last === asked) last = null;
        });
      }
      return last.reasons;
    },
  };
}
