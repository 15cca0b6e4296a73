/**
 * Backs up 10,000 pictures of 20 KB, backs them up again with 10 new ones, and restores them to empty stores:
 * bun bench/backup.ts [folder|postgres] [pictures]
 * Exit code 1: a command has failed, so that its time says nothing.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { placeOf } from '../adapters/filesystem/blobs.ts';
import { openStores } from '../adapters/open.ts';
import { agreeOnEpoch } from '../src/image/maintenance/epoch.ts';
import { agreeOnIdentity } from '../src/image/maintenance/store-identity.ts';
import { forEachBounded } from '../src/lib/for-each-bounded.ts';
import { bunRuntime } from '../src/runtime/bun.ts';
import { cli } from '../test/support/servers/cli.ts';
import { withSchema } from '../test/support/stores/postgres.ts';
import { startPostgres } from '../test/support/stores/postgres-server.ts';
import { image } from '../test/support/stores/records.ts';
import { withFolderOfItsOwn } from '../test/support/stores/s3.ts';
import { S3_CREDENTIALS, startS3 } from '../test/support/stores/services.ts';

const PICTURES = Number(process.argv[3] ?? 10_000);
const NEW = 10;
const BYTES = 20_000;
const FIRST = 1_750_000_000_000;
let stored = 0;
const folder = await mkdtemp(join(tmpdir(), 'picpool-bench-backup-'));
const servers = process.argv[2] === 'postgres' ? await Promise.all([startPostgres(), startS3()]) : null;

/** Settings of an empty installation. */
function installation(name: string): Record<string, string> {
  const DATA_DIR = join(folder, name);
  if (servers === null)
    return { DATA_DIR, METADATA_URL: `sqlite:${DATA_DIR}/picpool.db`, BLOBS_URL: `file:${DATA_DIR}/images` };
  const { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY } = S3_CREDENTIALS;
  const [postgres, s3] = servers;
  return {
    ...{ DATA_DIR, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY },
    METADATA_URL: withSchema(postgres.url),
    BLOBS_URL: withFolderOfItsOwn(s3.url),
  };
}

async function fill(
  { METADATA_URL = '', BLOBS_URL = '' }: Record<string, string>,
  count: number,
): Promise<void> {
  const opening = { runtime: bunRuntime, credentials: S3_CREDENTIALS };
  const stores = await openStores(METADATA_URL, BLOBS_URL, opening);
  const { images, blobs, close } = stores;
  // As a server does at its start.
  await agreeOnIdentity(stores, folder);
  await agreeOnEpoch(stores, folder);
  const ids = Array.from({ length: count }, () => randomBytes(6).toString('hex'));
  await forEachBounded(ids, servers === null ? 2000 : 64, async (id) => {
    const bytes = randomBytes(BYTES);
    const path = join(folder, id);
    if (servers === null) {
      const place = placeOf(BLOBS_URL.slice('file:'.length), `${id}.png`);
      await mkdir(place.folder, { recursive: true });
      await writeFile(place.path, bytes);
    } else {
      await writeFile(path, bytes);
      await blobs.put(`${id}.png`, path, 'image/png');
    }
    const hash = createHash('sha256').update(bytes).digest('hex');
    // Pictures that were stored in the same millisecond cost an insertion far more.
    const createdAt = FIRST + stored++;
    const times = { createdAt, lastAccess: createdAt };
    await images.insert(image({ id, ...times, format: 'png', size: BYTES, hash, filename: `${id}.png` }));
  });
  await close();
}

async function measure(what: string, words: string[], env: Record<string, string>): Promise<void> {
  const begun = performance.now();
  const { code, stdout, stderr } = await cli(words, { env });
  if (code !== 0) process.exitCode = 1;
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  console.log(`${what.padEnd(26)} ${seconds.padStart(6)} s  exit ${code}  ${stdout.trim() || stderr.trim()}`);
}

try {
  const old = installation('old');
  await mkdir(join(folder, 'backups'));
  const target = servers === null ? join(folder, 'backups') : withFolderOfItsOwn(servers[1].url);
  await fill(old, PICTURES);
  await measure('first backup', ['backup', target], old);
  await fill(old, NEW);
  await measure(`second, ${NEW} new`, ['backup', target], old);
  await measure('third, all read back', ['backup', target, '--check'], old);
  await measure('restore', ['restore', target], installation('new'));
} finally {
  await Promise.all((servers ?? []).map((server) => server.stop()));
  await rm(folder, { recursive: true, force: true });
}
