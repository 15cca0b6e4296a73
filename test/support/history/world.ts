import { join } from 'node:path';
import { startRefreshWorld } from '../farm/refresh-world.ts';
import { type StoredFiles, storedFiles } from '../loss/files.ts';
import { type Copy, type Fleet, startFleet } from '../servers/fleet.ts';
import { type Relay, startRelay } from '../servers/relay.ts';
import { withFolderOfItsOwn } from '../stores/s3.ts';
import { S3_CREDENTIALS, startS3 } from '../stores/services.ts';
import { type RecordsKind, startRecords } from './records.ts';

/** The administrator's token, which lifts the limits on refreshes. */
const TOKEN = 'the-token-of-the-administrator';
export const ADMIN = { authorization: `Bearer ${TOKEN}` };

/** Copies whose links to their stores can be disturbed, and a pool of proxies that takes seconds to refresh. */
export interface HistoryWorld {
  fleet: Fleet;
  /** Of each copy, to the records and to S3. */
  links: Relay[];
  files: StoredFiles;
  /** The copy that has checked a proxy last. */
  refreshing(): Copy | undefined;
  stop(): Promise<void>;
}

/** `commandOf`: see `startFleet`. */
export async function startHistoryWorld(
  copies: number,
  commandOf?: Parameters<typeof startFleet>[2],
  kind: RecordsKind = 'redis',
): Promise<HistoryWorld> {
  const [records, s3, pool] = await Promise.all([
    startRecords(kind),
    startS3(),
    startRefreshWorld({ silent: 40 }),
  ]);
  const s3Port = Number(new URL(s3.endpoint).port);
  const toRecords = await Promise.all(Array.from({ length: copies }, () => startRelay(records.port)));
  const toS3 = await Promise.all(Array.from({ length: copies }, () => startRelay(s3Port)));
  const links = [...toRecords, ...toS3];
  const blobs = withFolderOfItsOwn(s3.url);
  const through = (url: string, port: number, link: Relay | undefined) =>
    url
      .replace(`127.0.0.1:${port}`, `127.0.0.1:${link?.port}`)
      .replace(`127.0.0.1%3A${port}`, `127.0.0.1%3A${link?.port}`);
  const envOf = (incarnation: number) => ({
    ...pool.envOf(incarnation),
    METADATA_URL: through(records.url, records.port, toRecords[incarnation % copies]),
    BLOBS_URL: through(blobs, s3Port, toS3[incarnation % copies]),
    AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
    ADMIN_TOKEN: TOKEN,
    IMAGE_CLEANUP_INTERVAL: '1s',
    IMAGE_STRAY_RETENTION: '1h',
  });
  const fleet = await startFleet(Array<'bun'>(copies).fill('bun'), envOf, commandOf);
  return {
    fleet,
    links,
    files: storedFiles(join(s3.folder, new URL(blobs).pathname.slice(1)), (path) =>
      path.replaceAll('!', '/'),
    ),
    refreshing: () => fleet.copies.find(({ incarnation }) => incarnation === pool.seen.at(-1)?.incarnation),
    async stop() {
      await fleet.stop();
      await pool.stop();
      await Promise.all(links.map((link) => link.stop()));
      await Promise.all([records.stop(), s3.stop()]);
    },
  };
}
