import { openStores, type Stores } from '../../adapters/open.ts';
import { FILE_SCHEMES, RECORD_SCHEMES } from '../../adapters/registry.ts';
import { type Environment, parseConfig } from '../config.ts';
import { url } from '../config-values.ts';
import { SERVICE_STATE } from '../image/maintenance/service-time.ts';
import { masked } from '../lib/masked.ts';
import { MOVED } from '../lib/state.ts';
import { credentialsOf } from '../start/credentials.ts';
import { holdsBackups, NOT_FOR_A_SERVER } from './backups.ts';
import { defineCommand } from './command.ts';
import { conclude, copyAll, haveSameFiles, haveSameRecords, withWorkFolder } from './copying.ts';
import { usageError } from './exit.ts';
import { flag, value } from './options.ts';
import { requireDatabase, requireUsed } from './stores.ts';

/** For a URL with a password: other users of the machine can read the command line. */
const TARGET = 'PICPOOL_TO_METADATA';
const CONTINUE = 'What has been copied stays; run the same command to continue.';

export const command = defineCommand({
  about: `Copies all records, images and secrets to other stores, and leaves the old ones unchanged. What has already
been copied is skipped, so an interrupted copy is continued by the same command. The server can keep running
while most is copied. Then stop it and run the command once more: that also copies what changed and removes
what was deleted within the last hour, and names pictures that only the new stores have: what was deleted
longer ago, delete there. Then start the server with METADATA_URL and BLOBS_URL set to the new stores.
Each image is compared with its SHA-256 when it is read, and again when it is read back from the new store.
Proxies get new IDs; smaller versions of images are made again on request; links of images that have expired
return 404 instead of 410. Credentials for S3 are those of the server.
Exit code 0: everything is copied; 4: everything that there is, but the old stores have lost files, which
standard error names; 1: something is missing, and standard error says what.
Other users of the machine can read the command line: give a URL with a password in PICPOOL_TO_METADATA.

  picpool migrate --to-metadata redis://db:6379 --to-blobs 's3://bucket?endpoint=https://s3.example'`,
  options: {
    'from-metadata': value('URL', url(undefined, RECORD_SCHEMES, 'Records to copy. [METADATA_URL]')),
    'from-blobs': value('URL', url(undefined, FILE_SCHEMES, 'Image files to copy. [BLOBS_URL]')),
    'to-metadata': value(
      'URL',
      url(undefined, RECORD_SCHEMES, `Where records go; without it, they stay where they are. [${TARGET}]`),
    ),
    'to-blobs': value(
      'URL',
      url(undefined, FILE_SCHEMES, 'Where image files go; without it, they stay where they are.'),
    ),
    verify: flag('Also compares the SHA-256 of files that are already there, and copies those that differ.'),
  },

  async run({ options, env, runtime, terminal }) {
    const config = parseConfig(env);
    const from = {
      metadata: options['from-metadata'] ?? config.METADATA_URL,
      blobs: options['from-blobs'] ?? config.BLOBS_URL,
    };
    const to = { metadata: options['to-metadata'] ?? targetFrom(env), blobs: options['to-blobs'] };
    if (to.metadata === undefined && to.blobs === undefined) {
      throw usageError('Give --to-metadata, --to-blobs, or both.');
    }
    const credentials = credentialsOf(config);
    const open = (metadata: string, blobs: string) => openStores(metadata, blobs, { runtime, credentials });
    const opened: Stores[] = [];
    try {
      await requireDatabase(from.metadata);
      const source = await open(from.metadata, from.blobs);
      opened.push(source);
      const other = await open(to.metadata ?? 'sqlite::memory:', to.blobs ?? from.blobs);
      opened.push(other);
      const target = {
        metadata: to.metadata === undefined ? null : other,
        blobs: to.blobs === undefined ? null : other.blobs,
      };
      return await withWorkFolder(config.DATA_DIR, async (folder) => {
        const isSame =
          (target.metadata !== null && (await haveSameRecords(source, other))) ||
          (target.blobs !== null && (await haveSameFiles(source.blobs, target.blobs, folder)));
        if (isSame) throw usageError('The new stores must differ from the old ones.');
        await requireUsed(source, from.metadata);
        if (target.blobs !== null && (await holdsBackups(target.blobs)))
          throw usageError(`--to-blobs ${NOT_FOR_A_SERVER}`);
        for (const part of ['metadata', 'blobs'] as const)
          if (to[part] !== undefined)
            terminal.say(`${masked('URL', from[part])} -> ${masked('URL', to[part])}`);
        const copied = await copyAll(source, target, { verify: options.verify, folder, terminal });
        // Rather than that all files are lost, they are elsewhere.
        if (copied.intact === 0) copied.faults.push(...copied.lost.splice(0));
        if (target.metadata !== null && to.metadata !== undefined && copied.faults.length === 0) {
          await target.metadata.state.remove(MOVED);
          const served = await source.state.get(SERVICE_STATE);
          await source.state.set(MOVED, JSON.stringify({ served, to: masked('URL', to.metadata) }));
        }
        const said = copied.lost.length > 0 ? 'all there, but for what was lost' : 'all there';
        return conclude(copied, { said, advice: CONTINUE, terminal });
      });
    } finally {
      await Promise.all(opened.map((stores) => stores.close()));
    }
  },
});

function targetFrom(env: Environment): string | undefined {
  const given = env[TARGET]?.trim();
  try {
    return given ? url(undefined, RECORD_SCHEMES, '').decode(given) : undefined;
  } catch (error) {
    throw usageError(`${TARGET} ${(error as Error).message}.`);
  }
}
