import { openStores } from '../../adapters/open.ts';
import { parseConfig } from '../config.ts';
import { text } from '../config-values.ts';
import { IDENTITY_STATE } from '../image/maintenance/store-identity.ts';
import { systemClock } from '../lib/clock.ts';
import { countOf } from '../lib/format.ts';
import { credentialsOf } from '../start/credentials.ts';
import { backupsIn, filesIn, openBackup, placeOf } from './backups.ts';
import { defineCommand } from './command.ts';
import { removeDeleted } from './copy-images.ts';
import { askPatiently, conclude, copyAll, makeFolder, withWorkFolder } from './copying.ts';
import { CommandError, EXIT } from './exit.ts';
import { flag, value, values } from './options.ts';
import { readServerLogs, replay } from './server-log.ts';

/** Value in stores that are being restored, so that an interrupted restore is continued. */
const UNFINISHED = 'restore-unfinished';

export const command = defineCommand({
  operands: { form: 'TARGET', least: 1, most: 1 },
  about: `Restores a backup that picpool backup made in TARGET to the stores of the settings, of whatever kind. If
their records are empty, everything comes from the backup: stop the server first. If there are records, only
files that they lack are copied, also beside a running server. What is there stays, so an interrupted restore
is continued by the same command.

A backup does not know what was deleted or blocked since. --log names logs of the server that survived
(LOG_FORMAT=json, LOG_LEVEL=info): the images that they say were removed are not restored, and blocks are
repeated.
Exit code 0: everything is there; 1: something is missing, and standard error says what.

  journalctl -u picpool -o cat > picpool.log
  picpool restore /var/backups/picpool --log picpool.log`,
  options: {
    at: value('NAME', text(undefined, 'Restores this backup instead of the latest.')),
    log: values('FILE', text(undefined, 'A log of the server, oldest first.')),
    list: flag('Only prints the names of the backups in TARGET, the latest first.'),
    verify: flag('Also compares the SHA-256 of files that are already there, and copies those that differ.'),
  },

  async run({ options, operands, env, runtime, terminal }) {
    const config = parseConfig(env);
    const place = placeOf(operands[0] ?? '');
    const opening = { runtime, credentials: credentialsOf(config) };
    const { blobs } = await openStores('sqlite::memory:', place, opening);
    const backups = backupsIn((await filesIn(blobs)).keys());
    if (options.list) {
      await terminal.print(backups.map(({ name }) => `${name}\n`).join(''));
      return EXIT.done;
    }
    const backup = options.at === undefined ? backups[0] : backups.find(({ name }) => name === options.at);
    if (backup === undefined) throw new CommandError(`${operands[0]} holds no such backup.`);
    const told = await readServerLogs(options.log);
    await makeFolder(config.METADATA_URL);
    const target = await openStores(config.METADATA_URL, config.BLOBS_URL, opening);
    const closing = [target];
    try {
      return await withWorkFolder(config.DATA_DIR, async (folder) => {
        const source = await openBackup({ url: place, blobs }, backup, { ...opening, folder });
        closing.push(source);
        const { images } = await askPatiently(target.images.summary, systemClock);
        const isWhole = images === 0 || (await target.state.get(UNFINISHED)) !== null;
        const copying = { verify: options.verify, folder, terminal };
        const [theirs, ours] = [
          await source.state.get(IDENTITY_STATE),
          await target.state.get(IDENTITY_STATE),
        ];
        if (!isWhole && theirs !== ours) throw new CommandError('The backup is of another installation.');
        if (isWhole) {
          await target.state.set(UNFINISHED, backup.name);
          await removeDeleted(target, { metadata: source, blobs: null });
        }
        // The files of the backup stay.
        const kept = { ...source, blobs: { ...source.blobs, remove: async () => {} } };
        const gone = await replay(told, isWhole ? kept : target);
        const copied = isWhole
          ? await copyAll(source, { metadata: target, blobs: target.blobs }, copying)
          : await copyAll(
              { ...target, blobs: source.blobs },
              { metadata: null, blobs: target.blobs },
              copying,
            );
        if (isWhole) await target.state.remove(UNFINISHED);
        const { length } = options.log;
        const said =
          length === 0
            ? 'without --log, what was deleted or blocked since is back'
            : `${countOf(gone.images, 'image')} left out and ${countOf(gone.blocks, 'block')} repeated, as ${countOf(length, 'log')} said`;
        const what = `${isWhole ? 'restored' : 'complete'}, from backup ${backup.name}; ${said}`;
        const advice = `All others are ${what}. What is newer than the backup and has lost its file is in none.`;
        return conclude(copied, { said: what, advice, terminal });
      });
    } finally {
      await Promise.all(closing.map(({ close }) => close()));
    }
  },
});
