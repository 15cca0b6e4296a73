/**
 * `bun bench/expiries.ts [pictures, default 1000] [folder or s3]`: two copies of the server over one Redis, with their files in one
 * folder or in S3. Pictures with a smaller version each, which both copies have sent, expire after ten minutes, which is the shortest
 * time there is. Exits with 1 where one is seen at its end or 60 s later by any path, or a file of it is left. Needs Redis, and
 * versitygw for S3; takes twelve minutes, of which most are spent waiting.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { UploadAnswer } from '../test/support/images/image-host.ts';
import { photo } from '../test/support/images/images.ts';
import { startFleet } from '../test/support/servers/fleet.ts';
import { S3_CREDENTIALS, startRedis, startS3 } from '../test/support/stores/services.ts';

const [count = '1000', files = 'folder'] = process.argv.slice(2);
const AT_ONCE = 8;
const PROMISED_MS = 60_000;

type Expiring = UploadAnswer & { expires_at: string };

const folder = await mkdtemp(join(tmpdir(), 'picpool-expiries-'));
const redis = await startRedis();
const s3 = files === 's3' ? await startS3() : null;
const fleet = await startFleet(['bun', 'bun'], () => ({
  METADATA_URL: redis.url,
  BLOBS_URL: s3?.url ?? `file:${join(folder, 'images')}`,
  AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
  DATA_DIR: join(folder, 'data'),
  SERVICES: 'image',
}));

/** Runs `work` for all items, several at a time. */
async function forAll<T>(items: Iterable<T>, work: (item: T) => Promise<unknown>): Promise<void> {
  const queue = items[Symbol.iterator]();
  const take = async () => {
    for (let next = queue.next(); !next.done; next = queue.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, take));
}

const waysTo = ({ id, url, raw_url }: Expiring) =>
  [raw_url, `${raw_url}?w=160`, url, `${url}?auto`]
    .map((link) => {
      const { pathname, search } = new URL(link);
      return pathname + search;
    })
    .concat(`/api/info/${id}`);

/** Answers that were 503 on the first request. */
const busy: string[] = [];

/** Returns answers with another status, from all copies on all paths. */
async function others(pictures: readonly Expiring[], status: number): Promise<string[]> {
  const found: string[] = [];
  await forAll(pictures, async (picture) => {
    for (const { url } of fleet.copies) {
      for (const way of waysTo(picture)) {
        let answer = await fetch(url + way);
        // A copy that is too busy is asked once more.
        if (answer.status === 503) {
          busy.push(`${way}: ${await answer.text()}`);
          answer = await fetch(url + way);
        }
        await answer.bytes();
        if (answer.status !== status) found.push(`${way}: ${answer.status} in place of ${status}`);
      }
    }
  });
  return found;
}

/** Files of these pictures. */
async function filesOf(pictures: readonly Expiring[]): Promise<string[]> {
  const names = await readdir(s3?.folder ?? join(folder, 'images'), { recursive: true });
  const ids = new Set(pictures.map(({ id }) => id));
  return names.filter((name) => ids.has((name.split('/').at(-1) ?? '').slice(0, 12)));
}

const until = (time: number) => Bun.sleep(Math.max(0, time - Date.now()));

try {
  const bytes = new Uint8Array(await photo(400, 300));
  const pictures: Expiring[] = [];
  await forAll(Array(Number(count)).keys(), async (place) => {
    const to = fleet.copies[place % 2]?.url;
    const answer = await fetch(`${to}/api/upload?expires_in=10m`, { method: 'POST', body: bytes });
    if (answer.status !== 201) throw new Error(`upload: ${answer.status} ${await answer.text()}`);
    pictures.push((await answer.json()) as Expiring);
  });
  const ends = pictures.map(({ expires_at }) => Date.parse(`${expires_at.replace(' ', 'T')}Z`));
  const before = await others(pictures, 200);
  console.log(
    `${pictures.length} pictures, ${(await filesOf(pictures)).length} files (${files}); not readable before their end: ${before.length}`,
  );
  // Times are given in whole seconds.
  await until(Math.max(...ends) + 1000);
  const atEnd = await others(pictures, 410);
  console.log(`at the end of the last: ${atEnd.length} of ${pictures.length * 10} answers were not 410`);
  await until(Math.max(...ends) + PROMISED_MS);
  const left = await filesOf(pictures);
  const late = await others(pictures, 410);
  console.log(`60 s later: ${late.length} answers were not 410, ${left.length} files left`);
  console.log(`asked once more, as the copy was too busy: ${busy.length}`);
  for (const answer of busy.slice(0, 5)) console.log(`  ${answer}`);
  for (const fault of [...before, ...atEnd, ...late, ...left].slice(0, 20)) console.log(`  ${fault}`);
  process.exitCode = before.length + atEnd.length + late.length + left.length > 0 ? 1 : 0;
} finally {
  await fleet.stop();
  await Promise.all([redis.stop(), s3?.stop()]);
  await rm(folder, { recursive: true, force: true });
}
