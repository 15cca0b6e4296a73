import type { Log } from '../../lib/logger.ts';
import type { StateStore } from '../../lib/state.ts';
import type { BlobStore, ImageStore } from '../store.ts';
import { epochFault, readEpochs } from './epoch.ts';
import { hasMoreThan } from './files.ts';
import { IDENTITY_BLOB, IDENTITY_STATE, readMark } from './store-identity.ts';
import { mostUnasked } from './survey.ts';

/** How long an answer of `recent` is believed, in ms; one with reasons for less, as they may end at any moment. */
const BELIEVED_MS = 10_000;
const DOUBT_BELIEVED_MS = 2000;
/** Millions of records take seconds to count: an answer is believed so many times as long as it took. */
const BELIEVED_TIMES = 20;
/** State: a reason that later uploads would hide. Empty: none. */
const LASTING = 'image-doubt';

/**
 * Reasons to remove nothing. Where records and files do not belong together beyond doubt, a file without a record is not
 * a leftover: the record may have been lost.
 */
export interface Doubts {
  /** Looks at both stores. Returns the reasons in sentences for the operator; none if all is well. */
  look(): Promise<readonly string[]>;
  /** The reasons, at most ten seconds old, or twenty times as old as it took to find them. */
  recent(): Promise<readonly string[]>;
  /** Rebuilds lost indices if nothing else is wrong; false if there was nothing to rebuild. */
  mend(): Promise<boolean>;
  /** True if the only reason is one from before, which has no sign any more. */
  onlyLasting(): Promise<boolean>;
  /** Forgets that reason: every file was seen to have its record, or the operator says that all is well. */
  settle(): Promise<void>;
}

export interface DoubtsOptions {
  state: Pick<StateStore, 'get' | 'set'>;
  blobs: Pick<BlobStore, 'get' | 'list'>;
  images: Pick<ImageStore, 'faults' | 'repair' | 'summary'>;
  now: () => number;
  log: Log;
  /** Called when doubts arise, with the reasons, and with none when they are gone. */
  onChange?: (reasons: readonly string[]) => void;
}

/** What a look has found, by what can be done about it. */
interface Found {
  /** Nothing but the operator, or the data put back, can help. */
  grave: string[];
  /** An index that can be built from the records. */
  mendable: string[];
  /** What was seen before, and has no sign any more. */
  lasting: string[];
}

export function createDoubts({ state, blobs, images, now, log, onChange }: DoubtsOptions): Doubts {
  let told = '';
  let last: { at: number; reasons: Promise<readonly string[]> } | null = null;
  let believedMs = BELIEVED_MS;

  async function find(): Promise<Found> {
    const pairing = await pairingFault();
    const faults = await images.faults();
    const messages = (mendable: boolean) =>
      faults.filter((fault) => fault.mendable === mendable).map(({ message }) => message);
    const found = { grave: [...pairing, ...messages(false)], mendable: messages(true), lasting: [] };
    if (found.grave.length + found.mendable.length > 0) return found;
    // A crash in the first uploads leaves a few files that never had a record.
    if ((await images.summary()).images === 0 && (await hasMoreThan(mostUnasked(0), blobs))) {
      const reason = 'There is no record, but there are files of images.';
      await state.set(LASTING, reason);
      return { ...found, grave: [reason] };
    }
    const lasting = await state.get(LASTING);
    return { ...found, lasting: lasting ? [`Before the last uploads: ${lasting}`] : [] };
  }

  async function pairingFault(): Promise<string[]> {
    const [marked, known] = [await readMark(blobs), await state.get(IDENTITY_STATE)];
    if (known === null)
      return [`The records have lost the value ${IDENTITY_STATE}: they may be empty or others.`];
    if (marked === null)
      return [`The files have lost the mark ${IDENTITY_BLOB}: they may be empty or others.`];
    if (marked !== known) return ['The files belong to other records than these.'];
    const fault = epochFault(await readEpochs({ state, blobs }));
    return fault === null ? [] : [fault];
  }

  async function compare(): Promise<readonly string[]> {
    const startedAt = now();
    const { grave, mendable, lasting } = await find();
    const reasons = [...grave, ...mendable, ...lasting];
    const text = reasons.join(' ');
    if (text !== told) {
      if (reasons.length > 0) log('error', 'image files are not removed', { reasons });
      else log('info', 'image files may be removed again');
      onChange?.(reasons);
    }
    told = text;
    believedMs =
      reasons.length > 0 ? DOUBT_BELIEVED_MS : Math.max(BELIEVED_MS, BELIEVED_TIMES * (now() - startedAt));
    return reasons;
  }

  function look(): Promise<readonly string[]> {
    const asked = { at: now(), reasons: compare() };
    last = asked;
    asked.reasons.catch(() => {
      if (last === asked) last = null;
    });
    return asked.reasons;
  }

  return {
    look,
    recent: () => (last && Math.abs(now() - last.at) < believedMs ? last.reasons : look()),
    async mend() {
      const { grave, mendable } = await find();
      if (grave.length > 0 || mendable.length === 0) return false;
      log('warn', 'rebuilding the indexes of images', { reasons: mendable });
      await images.repair();
      return true;
    },
    async onlyLasting() {
      const { grave, mendable, lasting } = await find();
      return lasting.length > 0 && grave.length + mendable.length === 0;
    },
    settle: () => state.set(LASTING, ''),
  };
}
