import type { RecordKind, RecordStores } from '../../adapters/adapter.ts';
import { AppError, inEnglish } from '../errors.ts';
import { writeNote } from '../image/maintenance/note.ts';
import type { BlobStore } from '../image/store.ts';
import { cachedFor } from '../lib/answer-cache.ts';
import type { Log } from '../lib/logger.ts';
import type { StateStore } from '../lib/state.ts';
import { storing } from '../lib/storage-full.ts';
import { type Finding, type FindingSource, warn } from './finding.ts';

/** Name of the value, and of the blob, that test whether writing is possible. */
const STATE = 'readiness';
const BLOB = 'picpool-readiness';
const NO_SPACE = inEnglish('There is no space left for temporary files.');
/** How long a passed check stays valid, in ms, so that frequent requests cost little. */
const RECORDS_WRITABLE_MS = 5000;
const FILES_WRITABLE_MS = 60_000;
/** Everybody may ask, and each read from a bucket is paid for. */
const FILES_READABLE_MS = 1000;
/** How outdated this process's view may be, in ms, before it is reported: a query of the store may take as long. */
const LATE_MS = 2000;

const NAMES: Record<RecordKind, string> = {
  proxy: 'Proxies are shown',
  image: 'Searches know the images',
};

const monotonic = () => performance.now();

/** Asks whether records can be read and written. `needed`: the service that cannot work without reading them. */
export function recordSources(
  state: Pick<StateStore, 'get' | 'getOrSet' | 'remove'>,
  needed?: string,
): FindingSource[] {
  return [
    answering('The record store cannot be read.', () => state.get(STATE), needed),
    answering(
      'The record store is not writable.',
      // A full store lets values be replaced, which removals need, but none be added.
      cachedFor(RECORDS_WRITABLE_MS, monotonic, async () => {
        await state.getOrSet(STATE, new Date().toISOString());
        await state.remove(STATE);
      }),
    ),
  ];
}

/** Asks whether image files can be read and written. `folder`: for a temporary file. */
export function fileSources(blobs: BlobStore, folder: string, needed: string): FindingSource[] {
  return [
    // Not `stat`, which cannot tell a missing bucket from a missing file.
    answering(
      'The image store cannot be read.',
      cachedFor(FILES_READABLE_MS, monotonic, () => blobs.get(STATE)),
      needed,
    ),
    answering(
      'The image store is not writable.',
      cachedFor(FILES_WRITABLE_MS, monotonic, () =>
        storing(writeNote(blobs, folder, BLOB, 'written to see whether it can be'), NO_SPACE),
      ),
    ),
  ];
}

/** Creates a source that only answers or not. `needed`: the service that cannot work if it does not. */
export function answering(text: string, check: () => Promise<unknown>, needed?: string): FindingSource {
  const silence: Finding = { level: needed === undefined ? 'warn' : 'fail', about: needed, text };
  return { silence, look: () => check().then(() => []) };
}

/** Returns the source with the reason for which it does not work, and logs when that changes: callers are not shown the cause. */
export function explained({ silence, look }: FindingSource, log: Log): FindingSource {
  let known = '';
  return {
    silence,
    look: () =>
      look().then(
        (found) => {
          if (known !== '') log('info', 'no longer degraded', { finding: silence.text });
          known = '';
          return found;
        },
        (error: unknown) => {
          const { message, cause = error } = error instanceof AppError ? error : { message: '' };
          const text = `${silence.text} ${message}`.trim();
          if (text !== known) log('warn', 'degraded', { finding: silence.text, cause });
          known = text;
          return [{ ...silence, text }];
        },
      ),
  };
}

/** Returns what is wrong with the records of a kind. */
export function conditionFindings(condition: RecordStores['condition'], kind: RecordKind): Finding[] {
  const { unreadable, lagMs } = condition();
  const findings: Finding[] = [];
  const count = unreadable[kind];
  if (count > 0)
    findings.push(warn(`Unreadable records are skipped (${kind}: ${count}); the log names them.`));
  const seconds = Math.round(lagMs[kind] / 1000);
  if (lagMs[kind] > LATE_MS) {
    const text = `${NAMES[kind]} as they were ${seconds} s ago: the record store has been unreadable since then.`;
    findings.push(warn(text));
  }
  return findings;
}
