import { createDoubts } from '../image/maintenance/doubts.ts';
import { agreeOnEpoch } from '../image/maintenance/epoch.ts';
import type { SweepReport } from '../image/maintenance/quarantine.ts';
import { agreeOnIdentity } from '../image/maintenance/store-identity.ts';
import { type Survey, survey } from '../image/maintenance/survey.ts';
import { sweep } from '../image/maintenance/sweep.ts';
import { readableBytes } from '../lib/readable-bytes.ts';
import { createBlocks } from '../moderation/blocks.ts';
import { defineCommand, NO_OPERANDS } from './command.ts';
import { EXIT } from './exit.ts';
import { countOf } from './format.ts';
import { flag } from './options.ts';
import { type OpenedStores, withStores } from './stores.ts';

const HOUR_MS = 3_600_000;
/** Number of names printed of each kind. */
const SHOWN = 10;

export const command = defineCommand({
  operands: NO_OPERANDS,
  about: `Shows what the cleanup would quarantine: image files that have no record and are older than an hour. The
server asks for this when there are too many of them to be an accident, or when records and files may not belong
together. If anything was lost, restore it first: then the files have their records again.

With --confirm, the records count as complete. Files without one go to quarantine, from which
picpool restore-strays takes them back until IMAGE_STRAY_RETENTION is over; lost indexes are rebuilt, and
records and files belong together from then on. Exit code 1: there is something to confirm.`,
  options: { confirm: flag('Quarantines these files.') },

  run: ({ options, ...surroundings }) =>
    withStores(surroundings, async (stores) => {
      const { terminal } = surroundings;
      const doubts = createDoubts({ ...stores, now: Date.now, log: () => {} });
      const reasons = await doubts.look();
      for (const reason of reasons) await terminal.print(`${reason}\n`);
      if (!options.confirm) {
        const found = await look(stores);
        await terminal.print(describe(found));
        return reasons.length + found.strays.length > 0 ? EXIT.failed : EXIT.done;
      }
      await agreeOnIdentity(stores, stores.folder);
      await agreeOnEpoch(stores, stores.folder);
      await stores.images.repair();
      await doubts.settle();
      const report = await sweepAll(stores, doubts);
      await terminal.print(
        `${countOf(report.quarantined, 'file')} put into quarantine, ${report.removed} removed, ${report.restored} put back\n`,
      );
      return report.complete ? EXIT.done : EXIT.failed;
    }),
});

function look({ images, blobs, config }: OpenedStores): Promise<Survey> {
  const strayRetentionMs = config.IMAGE_STRAY_RETENTION;
  const { signal } = new AbortController();
  return survey({ images, blobs, strayRetentionMs, now: Date.now }, Date.now() - HOUR_MS, signal);
}

/** Repeats until a sweep finds nothing more, because each handles a limited number. */
async function sweepAll(stores: OpenedStores, doubts: ReturnType<typeof createDoubts>): Promise<SweepReport> {
  const { mayStore } = createBlocks({ ...stores, now: Date.now });
  const options = {
    ...stores,
    doubts,
    mayStore,
    strayRetentionMs: stores.config.IMAGE_STRAY_RETENTION,
    now: Date.now,
    log: () => {},
    confirmed: true,
  };
  const { signal } = new AbortController();
  const sum = await sweep(options, signal);
  for (let last = sum; last.complete && last.quarantined + last.removed > 0; ) {
    last = await sweep(options, signal);
    sum.quarantined += last.quarantined;
    sum.removed += last.removed;
    sum.restored += last.restored;
  }
  return sum;
}

function describe({ files, originals, strays, quarantined, expired, whole }: Survey): string {
  const bytes = strays.reduce((sum, { blob }) => sum + blob.size, 0);
  const names = strays.slice(0, SHOWN).map(({ key, blob }) => `  ${key}  ${readableBytes(blob.size)}\n`);
  const more = strays.length > SHOWN ? `  and ${strays.length - SHOWN}${whole ? '' : ' or'} more\n` : '';
  const kept = quarantined.files + expired.length;
  return `${countOf(files, 'file')}, of which ${originals} are images with a record
${countOf(strays.length, 'file')} without a record, ${readableBytes(bytes)}
${names.join('')}${more}${countOf(kept, 'file')} in quarantine, ${expired.length} of them for longer than they are kept
`;
}
