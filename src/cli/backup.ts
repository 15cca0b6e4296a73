import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { openStores } from '../../adapters/open.ts';
import { filesAdapter, recordsAdapter } from '../../adapters/registry.ts';
import { integer } from '../config-values.ts';
import { doubtsOf } from '../findings/stores.ts';
import { FILES_MISSING } from '../image/maintenance/missing-files.ts';
import type { BlobInfo } from '../image/store.ts';
import { countOf, readableBytes } from '../lib/format.ts';
import { masked } from '../lib/masked.ts';
import { UNFINISHED } from '../lib/state.ts';
import { freeBytesOf, isStorageFull } from '../lib/storage-full.ts';
import { credentialsOf } from '../start/credentials.ts';
import { backupsIn, filesIn, openBackup, placeOf, prune, refuseWithin, storeBackup } from './backups.ts';
import { defineCommand } from './command.ts';
import { BEGAN, FAULT } from './copy-records.ts';
import { conclude, copyAll, haveSameFiles, withWorkFolder } from './copying.ts';
import { CommandError, usageError } from './exit.ts';
import { flag, value } from './options.ts';
import { withStores } from './stores.ts';

export const command = defineCommand({
  operands: { form: 'TARGET', least: 1, most: 1 },
  about: `Adds a backup of the server's records and images to TARGET: a folder that exists, or
s3://BUCKET/PREFIX?endpoint=... with the credentials of the server. It works beside a running server,
with every kind of stores, and copies only images that TARGET does not have; what it copies is compared
with its SHA-256 and read back. Smaller versions of images are made again on request. The backup holds
secrets: keys, and hashes of tokens and passwords.
Exit code 0: the backup is complete; 4: it has all that the stores have, but these have lost files, which
standard error names; 1: it is incomplete, or was not made; 3: the database is damaged.

  picpool backup /var/backups/picpool --keep 14`,
  options: {
    keep: value(
      'N',
      integer(
        undefined,
        'Once this backup is verified, removes all but the newest N, and their files.',
        1,
        10_000,
      ),
    ),
    check: flag('Also reads all files of the backup, and compares their SHA-256.'),
  },

  run: ({ options, operands, ...surroundings }) =>
    withStores(surroundings, async (source) => {
      const { terminal, runtime } = surroundings;
      const { config } = source;
      const place = await placeOf(operands[0] ?? '');
      const half = await source.state.get(UNFINISHED);
      // A timer must not remove what is being restored.
      if (half !== null) throw new CommandError(`The restore of the backup ${half} is unfinished.`);
      const images = filesAdapter(config.BLOBS_URL).path(config.BLOBS_URL);
      await refuseWithin(place, [images, config.DATA_DIR]);
      return withWorkFolder(config.DATA_DIR, async (folder) => {
        const began = new Date();
        const opening = { runtime, credentials: credentialsOf(config), folder };
        const path = join(folder, 'records.db');
        const { blobs } = await openStores('sqlite::memory:', place, opening);
        if (await haveSameFiles(source.blobs, blobs, folder))
          throw usageError('TARGET holds the images themselves.');
        const files = await filesIn(blobs);
        await demandSpace(folder, config.METADATA_URL, files);
        const copy = await openStores(`sqlite:${path}`, place, opening);
        const known: typeof blobs = {
          ...blobs,
          stat: async (key) => files.get(key) ?? null,
          async put(key, file, mediaType) {
            const { size } = await stat(file);
            await blobs.put(key, file, mediaType);
            files.set(key, { key, size, modified: began.getTime() });
          },
        };
        const target = { metadata: { ...copy, blobs: known }, blobs: known };
        const copied = await copyAll(source, target, {
          verify: options.check,
          live: true,
          folder,
          terminal,
        });
        // Older backups may be all that is left of lost records. What files are lost was told.
        const doubts = ((await doubtsOf(source)) ?? []).map(({ text }) => text);
        copied.faults.push(...doubts.filter((text) => copied.lost.length === 0 || text !== FILES_MISSING));
        await copy.state.set(BEGAN, began.toISOString());
        for (const fault of copied.faults.slice(0, 1)) await copy.state.set(FAULT, fault);
        await copy.close();
        const backup = await storeBackup(known, path, { began, files });
        let { length: kept } = backupsIn(files.keys());
        if (options.keep !== undefined && copied.faults.length === 0) {
          const open = (one: typeof backup) => openBackup({ url: place, blobs }, one, opening);
          const warn = (text: string) => terminal.say(`picpool: ${text}`);
          const gone = await prune(blobs, files, { keep: options.keep, now: began.getTime(), open, warn });
          kept -= gone.backups;
          if (gone.backups > 0)
            copied.done.push(
              `${countOf(gone.backups, 'old backup')} and ${countOf(gone.files, 'file')} removed`,
            );
        }
        const said = `backup ${backup.name}, one of ${kept} in ${masked('BLOBS_URL', place)}`;
        const advice = `All else is in backup ${backup.name}; no older one was removed.`;
        return conclude(copied, { said, advice, terminal });
      }).catch((error: unknown) => {
        if (!isStorageFull(error)) throw error;
        throw new CommandError(
          `No space is left in TARGET or in DATA_DIR (${config.DATA_DIR}), where the records are copied first.`,
        );
      });
    }),
});

/**
 * Rejects if the folder has less space than the records of the last backup, or the database, take: the server may write to
 * the same disk. In TARGET, SQLite might lack locks and shared memory: network file systems do.
 * @throws {CommandError}
 */
async function demandSpace(folder: string, url: string, files: ReadonlyMap<string, BlobInfo>): Promise<void> {
  const database = recordsAdapter(url).path(url);
  const last = files.get(backupsIn(files.keys())[0]?.key ?? '')?.size ?? 0;
  const needed = Math.max(last, database === null ? 0 : (await stat(database)).size);
  const free = await freeBytesOf(folder);
  if (free < needed)
    throw new CommandError(
      `A backup needs ${readableBytes(needed)} in DATA_DIR while it is made; ${readableBytes(free)} are free.`,
    );
}
