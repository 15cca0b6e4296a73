import { createDoubts } from '../image/maintenance/doubts.ts';
import { agreeOnEpoch } from '../image/maintenance/epoch.ts';
import { giveUpFiles } from '../image/maintenance/missing-files.ts';
import type { SweepReport } from '../image/maintenance/quarantine.ts';
import { createServiceTime } from '../image/maintenance/service-time.ts';
import { agreeOnIdentity } from '../image/maintenance/store-identity.ts';
import { type Survey, survey } from '../image/maintenance/survey.ts';
import { sweep } from '../image/maintenance/sweep.ts';
import { systemClock } from '../lib/clock.ts';
import { countOf, readableBytes } from '../lib/format.ts';
import { createBlocks } from '../moderation/blocks.ts';
import { defineCommand } from './command.ts';
import { askPatiently } from './copying.ts';
import { EXIT } from './exit.ts';
import { flag } from './options.ts';
import { type OpenedStores, withStores } from './stores.ts';

const HOUR_MS = 3_600_000;
/** Number of names printed of each kind. */
const SHOWN = 10;

export const command = defineCommand({
  about: `Shows what the cleanup would quarantine: image files that have no record and are older than an hour. The
server asks for this when there are too many of them to be an accident, or when records and files may not belong
together. If anything was lost, restore it first: then the files have their records again.

With --confirm, the records count as complete. Files without one go to quarantine for IMAGE_STRAY_RETENTION,
from which each returns by itself once its record is back; lost indexes are rebuilt, and records and files
belong together from then on. Exit code 1: there is something to confirm.`,
  options: { confirm: flag('Quarantines these files.') },

  run: ({ options, ...surroundings }) =>
    withStores(surroundings, async (stores) => {
      const { terminal } = surroundings;
      const doubts = createDoubts({ ...stores, now: Date.now, log: () => {} });
      const reasons = await doubts.look();
      for (const { text } of reasons) await terminal.print(`${text}\n`);
      if (!options.confirm) {
        const found = await look(stores);
        await terminal.print(describe(found));
        return reasons.length + found.strays.length > 0 ? EXIT.failed : EXIT.done;
      }
      await giveUpFiles(stores);
      await agreeOnIdentity(stores, stores.folder);
      await agreeOnEpoch(stores, stores.folder);
      await stores.images.repair();
      await doubts.settle();
      const report = await sweepAll(stores, doubts);
      await terminal.print(
        `${countOf(report.quarantined, 'file')} put into quarantine, ${report.removed} removed, ${report.restored} put back\n`,
      );
      if (report.complete) return EXIT.done;
      for (const { text } of await doubts.look()) terminal.say(`picpool: ${text}`);
      return EXIT.failed;
    }),
});

async function look(stores: OpenedStores): Promise<Survey> {
  const { signal } = new AbortController();
  return survey({ ...stores, straysBefore: await strayTime(stores) }, Date.now() - HOUR_MS, signal);
}

/** Returns the time since which the server has run for as long as files stay in quarantine. */
function strayTime({ config, ...stores }: OpenedStores): Promise<number> {
  const limits = { retentionMs: config.IMAGE_RETENTION, strayRetentionMs: config.IMAGE_STRAY_RETENTION };
  return createServiceTime({ ...stores, limits, now: Date.now }).servedFor(limits.strayRetentionMs);
}

/** Repeats until a sweep finds nothing more, because each handles a limited number. */
async function sweepAll(stores: OpenedStores, doubts: ReturnType<typeof createDoubts>): Promise<SweepReport> {
  const { mayStore } = createBlocks({ ...stores, now: Date.now });
  const options = {
    ...stores,
    doubts,
    mayStore,
    straysBefore: await strayTime(stores),
    now: Date.now,
    log: () => {},
    confirmed: true,
  };
  const { signal } = new AbortController();
  const inTurn = () => askPatiently(() => sweep(options, signal), systemClock);
  const sum = await inTurn();
  for (let last = sum; last.complete && last.quarantined + last.removed > 0; ) {
    last = await inTurn();
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
${countOf(strays.length, 'file')} without a record for more than an hour, ${readableBytes(bytes)}
${names.join('')}${more}${countOf(kept, 'file')} in quarantine, ${expired.length} of them for longer than they are kept
`;
}
