import { type Finding, fail, unknown } from '../../findings/finding.ts';
import type { Log } from '../../lib/logger.ts';
import type { StateStore } from '../../lib/state.ts';
import { elapsedSince } from '../../lib/stored-time.ts';
import type { BlobStore, ImageStore } from '../store.ts';
import { epochFault, readEpochs } from './epoch.ts';
import { hasMoreThan, type ImageFile } from './files.ts';
import { areFilesMissing, FILES_MISSING } from './missing-files.ts';
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
export const LASTING = 'image-doubt';

const ADVICE =
  'Until this is fixed, no file is removed. Restore what was lost; if nothing is missing, picpool sweep says what to do.';

interface DoubtsOptions {
  state: Pick<StateStore, 'get' | 'set'>;
  blobs: Pick<BlobStore, 'get' | 'list' | 'stat'>;
  images: Pick<ImageStore, 'buried' | 'faults' | 'knownFaults' | 'recent' | 'repair' | 'summary'>;
  now: () => number;
  log: Log;
  /** Called with the reasons when doubts arise, and with none when they are resolved. */
  onChange?: (reasons: readonly string[]) => void;
}

export function createDoubts({ state, blobs, images, now, log, onChange }: DoubtsOptions) {
  let told = '';
  let last: { at: number; believedMs: number; reasons: Promise<readonly Finding[]> } | null = null;
  let watchedAt = Number.NEGATIVE_INFINITY;

  /**
   * Level `fail`: only the operator, or restoring the data, can help. `warn`: indices that can be rebuilt from the
   * records. `unknown`: seen earlier, with no sign of it now.
   */
  async function find(faultsOf = images.faults): Promise<Finding[]> {
    const unpaired = await pairingFault();
    const found = [...(unpaired === null ? [] : [fail(unpaired)]), ...(await faultsOf())];
    const ofLevel = (wanted: Finding['level']) => found.filter(({ level }) => level === wanted);
    if (found.length > 0) return [...ofLevel('fail'), ...ofLevel('warn')];
    // A crash during the first uploads leaves a few files that never had a record.
    if ((await images.summary()).images === 0 && (await hasMoreThan(mostUnasked(0), blobs, unexplained))) {
      const reason = 'There are image files, but no records.';
      await state.set(LASTING, reason);
      return [fail(reason)];
    }
    const lasting = await state.get(LASTING);
    return lasting ? [unknown(`Before the last uploads: ${lasting}`)] : [];
  }

  /** Leaves out files of uploads that are under way, and of deleted images. */
  async function unexplained(files: readonly ImageFile[]): Promise<ImageFile[]> {
    const settled = files.filter(({ blob }) => elapsedSince(blob.modified, now()) >= UNDER_WAY_MS);
    const buried = await images.buried([...new Set(settled.map(({ id }) => id))]);
    return settled.filter(({ id }) => !buried.has(id));
  }

  async function pairingFault(): Promise<string | null> {
    const [marked, known] = [await readMark(blobs), await state.get(IDENTITY_STATE)];
    if (await areFilesMissing({ blobs, images, state }, marked)) return FILES_MISSING;
    if (known === null)
      return `The records have lost the value ${IDENTITY_STATE}: they may be empty, or from elsewhere.`;
    if (marked === null)
      return `The files have lost the mark ${IDENTITY_BLOB}: they may be empty, or from elsewhere.`;
    if (marked !== known) return 'The files belong to other records.';
    return epochFault(await readEpochs({ state, blobs }));
  }

  async function compare(faultsOf: ImageStore['faults']): Promise<readonly Finding[]> {
    const reasons = (await find(faultsOf)).map(({ text }) => text);
    const text = reasons.join(' ');
    if (text !== told) {
      if (reasons.length > 0) log('error', 'image files are not removed', { reasons });
      else log('info', 'image files may be removed again');
      onChange?.(reasons);
    }
    told = text;
    const findings = reasons.map((reason) => fail(reason, ADVICE));
    last = {
      at: now(),
      believedMs: reasons.length > 0 ? DOUBT_BELIEVED_MS : BELIEVED_MS,
      reasons: Promise.resolve(findings),
    };
    return findings;
  }

  const look = () => compare(images.faults);

  /** Examines only what takes milliseconds. Concurrent callers share the result. */
  function glance(): Promise<readonly Finding[]> {
    const asked = { at: now(), believedMs: BELIEVED_MS, reasons: compare(images.knownFaults) };
    last = asked;
    asked.reasons.catch(() => {
      if (last === asked) last = null;
    });
    return asked.reasons;
  }

  return {
    /** Examines both stores thoroughly, before files are removed. Returns the reasons; none if all is well. */
    look,
    /** Examines both stores: thoroughly at first and once an hour, otherwise only what takes milliseconds. */
    async watch(): Promise<readonly Finding[]> {
      if (elapsedSince(watchedAt, now(), 0) < THOROUGH_MS) return glance();
      const reasons = await look();
      watchedAt = now();
      return reasons;
    },
    /** Returns the known reasons, at most ten seconds old, without waiting for a thorough look. */
    recent: () => (last && elapsedSince(last.at, now(), 0) < last.believedMs ? last.reasons : glance()),
    /** Rebuilds lost indices if nothing else is wrong. Returns false if there was nothing to rebuild. */
    async mend(): Promise<boolean> {
      const found = await find();
      if (found.length === 0 || found.some(({ level }) => level !== 'warn')) return false;
      log('warn', 'rebuilding the indexes of images', { reasons: found.map(({ text }) => text) });
      await images.repair();
      return true;
    },
    /** Returns true if the only reason is an earlier one, of which there is no longer any sign. */
    async onlyLasting(): Promise<boolean> {
      return (await find()).some(({ level }) => level === 'unknown');
    },
    /** Forgets that reason, because every file has its record, or the operator says that all is well. */
    settle: () => state.set(LASTING, ''),
  };
}

/**
 * Reasons to remove nothing. If records and files may not belong together, a file without a record is not a leftover:
 * its record may have been lost.
 */
export type Doubts = ReturnType<typeof createDoubts>;
