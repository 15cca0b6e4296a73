import type { Log } from '../../lib/logger.ts';
import type { StateStore } from '../../lib/state.ts';
import type { BlobStore, ImageStore } from '../store.ts';
import { epochFault, readEpochs } from './epoch.ts';
import { hasMoreThan, type ImageFile } from './files.ts';
import { IDENTITY_BLOB, IDENTITY_STATE, readMark } from './store-identity.ts';
import { mostUnasked } from './survey.ts';

/**
 * How long a result of `recent` is used, in ms; shorter if it has reasons, because they may disappear at any moment.
 */
const BELIEVED_MS = 10_000;
const DOUBT_BELIEVED_MS = 2000;
/** How often `watch` looks thoroughly, in ms. With ten million images on Postgres, that takes seconds. */
const THOROUGH_MS = 3_600_000;
/** How long the file of an upload may lack its record, in ms: far longer than storing the record takes. */
const UNDER_WAY_MS = 60_000;
/** State key: a reason that later uploads would hide. Empty: none. */
const LASTING = 'image-doubt';

/**
 * Reasons to remove nothing. If records and files may not belong together, a file without a record is not a leftover:
 * its record may have been lost.
 */
export interface Doubts {
  /**
   * Examines both stores thoroughly, before files are removed. Returns the reasons as sentences for the operator; none
   * if all is well.
   */
  look(): Promise<readonly string[]>;
  /** Examines both stores: thoroughly at first and once an hour, otherwise only what takes milliseconds. */
  watch(): Promise<readonly string[]>;
  /** Returns the known reasons, at most ten seconds old, without waiting for a thorough look. */
  recent(): Promise<readonly string[]>;
  /** Rebuilds lost indices if nothing else is wrong. Returns false if there was nothing to rebuild. */
  mend(): Promise<boolean>;
  /** Returns true if the only reason is an earlier one, of which there is no longer any sign. */
  onlyLasting(): Promise<boolean>;
  /** Forgets that reason, because every file has its record, or the operator says that all is well. */
  settle(): Promise<void>;
}

interface DoubtsOptions {
  state: Pick<StateStore, 'get' | 'set'>;
  blobs: Pick<BlobStore, 'get' | 'list'>;
  images: Pick<ImageStore, 'buried' | 'faults' | 'knownFaults' | 'repair' | 'summary'>;
  now: () => number;
  log: Log;
  /** Called with the reasons when doubts arise, and with none when they are resolved. */
  onChange?: (reasons: readonly string[]) => void;
}

/** The findings, by what can be done about them. */
interface Found {
  /** Only the operator, or restoring the data, can help. */
  grave: string[];
  /** Indices that can be rebuilt from the records. */
  mendable: string[];
  /** Seen earlier, with no sign of it now. */
  lasting: string[];
}

export function createDoubts({ state, blobs, images, now, log, onChange }: DoubtsOptions): Doubts {
  let told = '';
  let last: { at: number; believedMs: number; reasons: Promise<readonly string[]> } | null = null;
  let watchedAt = Number.NEGATIVE_INFINITY;

  async function find(faultsOf = images.faults): Promise<Found> {
    const pairing = await pairingFault();
    const faults = await faultsOf();
    const messages = (mendable: boolean) =>
      faults.filter((fault) => fault.mendable === mendable).map(({ message }) => message);
    const found = { grave: [...pairing, ...messages(false)], mendable: messages(true), lasting: [] };
    if (found.grave.length + found.mendable.length > 0) return found;
    // A crash during the first uploads leaves a few files that never had a record.
    if ((await images.summary()).images === 0 && (await hasMoreThan(mostUnasked(0), blobs, unexplained))) {
      const reason = 'There are image files, but no records.';
      await state.set(LASTING, reason);
      return { ...found, grave: [reason] };
    }
    const lasting = await state.get(LASTING);
    return { ...found, lasting: lasting ? [`Before the last uploads: ${lasting}`] : [] };
  }

  /** Leaves out files of uploads that are under way, and of deleted images. */
  async function unexplained(files: readonly ImageFile[]): Promise<ImageFile[]> {
    const settled = files.filter(({ blob }) => Math.abs(now() - blob.modified) >= UNDER_WAY_MS);
    const buried = await images.buried([...new Set(settled.map(({ id }) => id))]);
    return settled.filter(({ id }) => !buried.has(id));
  }

  async function pairingFault(): Promise<string[]> {
    const [marked, known] = [await readMark(blobs), await state.get(IDENTITY_STATE)];
    if (known === null)
      return [`The records have lost the value ${IDENTITY_STATE}: they may be empty, or from elsewhere.`];
    if (marked === null)
      return [`The files have lost the mark ${IDENTITY_BLOB}: they may be empty, or from elsewhere.`];
    if (marked !== known) return ['The files belong to other records.'];
    const fault = epochFault(await readEpochs({ state, blobs }));
    return fault === null ? [] : [fault];
  }

  async function compare(faultsOf: ImageStore['faults']): Promise<readonly string[]> {
    const { grave, mendable, lasting } = await find(faultsOf);
    const reasons = [...grave, ...mendable, ...lasting];
    const text = reasons.join(' ');
    if (text !== told) {
      if (reasons.length > 0) log('error', 'image files are not removed', { reasons });
      else log('info', 'image files may be removed again');
      onChange?.(reasons);
    }
    told = text;
    last = {
      at: now(),
      believedMs: reasons.length > 0 ? DOUBT_BELIEVED_MS : BELIEVED_MS,
      reasons: Promise.resolve(reasons),
    };
    return reasons;
  }

  const look = () => compare(images.faults);

  /** Examines only what takes milliseconds. Concurrent callers share the result. */
  function glance(): Promise<readonly string[]> {
    const asked = { at: now(), believedMs: BELIEVED_MS, reasons: compare(images.knownFaults) };
    last = asked;
    asked.reasons.catch(() => {
      if (last === asked) last = null;
    });
    return asked.reasons;
  }

  return {
    look,
    async watch() {
      if (Math.abs(now() - watchedAt) < THOROUGH_MS) return glance();
      const reasons = await look();
      watchedAt = now();
      return reasons;
    },
    recent: () => (last && Math.abs(now() - last.at) < last.believedMs ? last.reasons : glance()),
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
