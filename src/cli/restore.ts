import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { openStores, type Stores } from '../../adapters/open.ts';
import { adapterOf } from '../../adapters/registry.ts';
import { type Config, type Environment, parseConfig } from '../config.ts';
import { text } from '../config-values.ts';
import { withCause } from '../errors.ts';
import { IDENTITY_STATE } from '../image/maintenance/store-identity.ts';
import { slices } from '../lib/batches.ts';
import { systemClock } from '../lib/clock.ts';
import { countOf } from '../lib/format.ts';
import { masked } from '../lib/masked.ts';
import { UNFINISHED } from '../lib/state.ts';
import { credentialsOf } from '../start/credentials.ts';
import {
  backupsIn,
  filesIn,
  holdsBackups,
  NOT_FOR_A_SERVER,
  openBackup,
  placeOf,
  timeOf,
} from './backups.ts';
import { defineCommand } from './command.ts';
import { removeDeleted } from './copy-images.ts';
import { BEGAN, FAULT } from './copy-records.ts';
import { askPatiently, claim, conclude, copyAll, withWorkFolder } from './copying.ts';
import { CommandError, EXIT, usageError } from './exit.ts';
import { flag, value, values } from './options.ts';
import { readServerLogs, replay, type Told } from './server-log.ts';

/** By how much a clock may have been set back after a backup, without which its time tells what came later. */
const MARGIN_MS = 86_400_000;
const BATCH = 500;

export const command = defineCommand({
  operands: { form: 'TARGET', least: 1, most: 1 },
  about: `Restores a backup that picpool backup made in TARGET to the stores of the settings, of whatever kind. If
their records are empty, everything comes from the backup: stop the server first. If there are records, only
files that they lack are copied, also beside a running server. What is there stays, so an interrupted restore
is continued by the same command, with --at if there is a newer backup.

A backup does not know what was deleted or blocked since. --log names logs of the server that survived
(LOG_FORMAT=json, LOG_LEVEL=info): the images that they say were removed since are not restored, and blocks
are repeated; those of AUDIT_LOG also name the tokens that were revoked.
Exit code 0: everything is there; 1: something is missing, and standard error says what.

  journalctl -u picpool -o cat > picpool.log
  picpool restore /var/backups/picpool --log picpool.log`,
  options: {
    at: value('NAME', text(undefined, 'Restores this backup instead of the latest.')),
    log: values('FILE', text(undefined, 'A log of the server, oldest first.')),
    list: flag(
      'Only names the backups in TARGET, the latest first, and the faults of those since the last good one.',
    ),
    verify: flag('Also compares the SHA-256 of files that are already there, and copies those that differ.'),
  },

  async run({ options, operands, env, runtime, terminal }) {
    const config = parseConfig(env);
    const place = await placeOf(operands[0] ?? '');
    const opening = { runtime, credentials: credentialsOf(config) };
    const { blobs } = await openStores('sqlite::memory:', place, opening);
    const backups = backupsIn((await filesIn(blobs)).keys());
    if (options.list && backups.length > 0) {
      await terminal.print(backups.map(({ name }) => `${name}\n`).join(''));
      await withWorkFolder(config.DATA_DIR, async (folder) => {
        for (const backup of backups) {
          const opened = openBackup({ url: place, blobs }, backup, { ...opening, folder });
          const fault = await opened.then(({ state, close }) => state.get(FAULT).finally(close), withCause);
          // Each is as large as all records, and there may be hundreds.
          if (fault === null) break;
          terminal.say(`${backup.name}: ${fault}`);
        }
      });
      return EXIT.done;
    }
    const backup = options.at === undefined ? backups[0] : backups.find(({ name }) => name === options.at);
    if (backup === undefined)
      throw new CommandError(
        `${masked('BLOBS_URL', place)} holds no backup${options.at ? ` ${options.at}` : ''}.`,
      );
    await refuseDefault(env, config);
    for (const name of ['METADATA_URL', 'BLOBS_URL'] as const)
      terminal.say(`to ${name}=${masked(name, config[name])}`);
    const closing: Stores[] = [];
    try {
      return await withWorkFolder(config.DATA_DIR, async (folder) => {
        const source = await openBackup({ url: place, blobs }, backup, { ...opening, folder });
        closing.push(source);
        const began = Date.parse((await source.state.get(BEGAN)) ?? '') || timeOf(backup.name);
        const [latest] = await source.images.recent({ offset: 0, limit: 1 });
        // A clock that was ahead does not tell what was removed since. What happened before is repeated in vain.
        const known = Math.min(began, latest?.lastAccess ?? 0) - MARGIN_MS;
        const since = known > Date.now() ? '' : new Date(known).toISOString();
        const told = await readServerLogs(options.log, since);
        const target = await openStores(config.METADATA_URL, config.BLOBS_URL, opening);
        closing.push(target);
        if (await holdsBackups(target.blobs)) throw usageError(`BLOBS_URL ${NOT_FOR_A_SERVER}`);
        const { images } = await askPatiently(target.images.summary, systemClock);
        const unfinished = await target.state.get(UNFINISHED);
        if (unfinished !== null && unfinished !== backup.name) {
          throw new CommandError(
            `A restore of the backup ${unfinished} is unfinished: continue it with --at ${unfinished}. If that is impossible, start the server, or empty the stores, and try again.`,
          );
        }
        const isWhole = images === 0 || unfinished !== null;
        const isSame = (await source.state.get(IDENTITY_STATE)) === (await target.state.get(IDENTITY_STATE));
        if (!isWhole && !isSame) {
          throw new CommandError(
            `The stores have ${countOf(images, 'image')} of another installation, such as of a server that was started on empty stores. To restore the backup, stop the server, empty the stores, and try again.`,
          );
        }
        // Such as what a server had begun after its records had been lost.
        const fault = isWhole && options.at === undefined ? await source.state.get(FAULT) : null;
        if (fault !== null)
          throw new CommandError(
            `The latest backup, ${backup.name}, was made with faults (${fault.replace(/\.$/, '')}). Name it or an older one with --at; --list prints all.`,
          );
        if (isWhole) {
          await claim(source, { metadata: target, blobs: target.blobs }, folder);
          await target.state.set(UNFINISHED, backup.name);
          await removeDeleted(target, { metadata: source, blobs: null });
        }
        // The files of the backup stay.
        const kept = { ...source, blobs: { ...source.blobs, remove: async () => {} } };
        const gone = isWhole ? await replay(told, kept) : null;
        const [from, metadata] = isWhole ? [source, target] : [{ ...target, blobs: source.blobs }, null];
        const copied = await copyAll(
          from,
          { metadata, blobs: target.blobs },
          { verify: options.verify, folder, terminal },
        );
        // Another backup may have them.
        copied.faults.push(...copied.lost.splice(0));
        for (const ids of isWhole ? [] : slices([...told.removed], BATCH)) {
          for (const id of await target.images.existing(ids))
            copied.faults.push(`image ${id} is there, although the log says that it was removed`);
        }
        if (isWhole && copied.faults.length === 0) await target.state.remove(UNFINISHED);
        const what = `${isWhole ? 'restored' : 'complete'}, from backup ${backup.name}; ${saidOf(options.log.length, told, gone)}`;
        const advice = `All others are ${what}. What is newer than the backup and has lost its file is in none.`;
        return conclude(copied, { said: what, advice, terminal });
      });
    } finally {
      await Promise.all(closing.map(({ close }) => close()));
    }
  },
});

/** Says what the logs did; `gone`: what was repeated, `null` if the records survived. */
function saidOf(
  logs: number,
  { first, last, hidden }: Told,
  gone: Awaited<ReturnType<typeof replay>> | null,
): string {
  if (gone === null) return 'the records were there and know what was deleted and blocked';
  if (logs === 0) return 'without --log, what was deleted or blocked since is back';
  const skipped = hidden.size > 0 ? `, ${countOf(hidden.size, 'block')} of hidden addresses skipped` : '';
  const revoked = gone.tokens > 0 ? `, ${countOf(gone.tokens, 'token')} revoked` : '';
  return `${countOf(gone.images, 'image')} left out${revoked} and ${countOf(gone.blocks, 'block')} repeated${skipped}, as ${countOf(logs, 'log')} said, from ${first} to ${last}`;
}

/** Rejects if a store would be created in a data folder that nobody named: the settings of the server are missing. */
async function refuseDefault(env: Environment, { DATA_DIR, METADATA_URL, BLOBS_URL }: Config): Promise<void> {
  if (env.DATA_DIR?.trim() || (await stat(DATA_DIR).catch(() => null)) !== null) return;
  const paths = [METADATA_URL, BLOBS_URL].map((url) => adapterOf(url).path(url));
  if (paths.some((path) => path?.startsWith(`${resolve(DATA_DIR)}/`))) {
    throw usageError(`DATA_DIR is not set, and ${DATA_DIR} does not exist. Give the settings of the server.`);
  }
}
