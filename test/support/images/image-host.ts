import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFolderBlobs } from '../../../adapters/filesystem/blobs.ts';
import { createLocalLocks } from '../../../adapters/local/locks.ts';
import { createLocalRateLimiter } from '../../../adapters/local/rate-limiter.ts';
import { createSqliteAlbums } from '../../../adapters/sqlite/albums.ts';
import { openDatabase } from '../../../adapters/sqlite/database.ts';
import { createSqliteImages } from '../../../adapters/sqlite/images.ts';
import { createSqliteState } from '../../../adapters/sqlite/state.ts';
import { createApp } from '../../../src/app.ts';
import type { Codec } from '../../../src/codec/codec.ts';
import { createClients } from '../../../src/http/client/clients.ts';
import { createProxyTrust } from '../../../src/http/client/proxy-trust.ts';
import { createContexts } from '../../../src/http/context.ts';
import { createPasswordHasher } from '../../../src/image/access/password.ts';
import type { AlbumStore } from '../../../src/image/albums/album.ts';
import { createAlbums } from '../../../src/image/albums/albums.ts';
import { SERVICE_STATE } from '../../../src/image/maintenance/service-time.ts';
import { pairStores } from '../../../src/image/maintenance/store-identity.ts';
import { galleryRoute } from '../../../src/image/pages/gallery-page.ts';
import { oembedRoute } from '../../../src/image/pages/oembed.ts';
import { imageHome } from '../../../src/image/pages/upload-form.ts';
import { imageRoutes } from '../../../src/image/routes.ts';
import { statsAnswer } from '../../../src/image/schemas.ts';
import { createImageService, type ImageServiceOptions } from '../../../src/image/service.ts';
import { statsView } from '../../../src/image/views.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { MOST_EXPIRY_MS } from '../../../src/lib/expiry.ts';
import { bunRuntime } from '../../../src/runtime/bun.ts';
import { openTestWeb } from '../browser/web.ts';
import { plainFacts } from '../facts.ts';
import { testAudit } from '../stores/audit.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Address that requests come from unless the test says otherwise. */
export const UPLOADER = '198.51.100.7';

/** Bytes of an upload that the host under test takes. */
export const MAX_UPLOAD_BYTES = 256 * 1024;

type HostParts = ImageServiceOptions & { albums: AlbumStore };

export interface ImageHostOptions {
  codec: Pick<Codec, 'convert'>;
  basePath?: string;
  adminToken?: string;
  /** Counts the files of ZIP files. */
  countReads?: (peer: string, files: number) => Promise<void>;
  /** Changes parts, to make them fail. */
  change?: (parts: HostParts) => Partial<HostParts>;
}

/** An image host of real parts: SQLite in memory, a temporary folder, the whole application, a clock of its own. */
export async function startImageHost({
  codec,
  basePath = '',
  adminToken,
  countReads,
  change,
}: ImageHostOptions) {
  const root = await mkdtemp(join(tmpdir(), 'picpool-host-'));
  const folder = join(root, 'tmp');
  const blobFolder = join(root, 'blobs');
  await mkdir(folder);
  const database = await openDatabase(bunRuntime.openSqlite, ':memory:');
  const clock = {
    ms: Date.now(),
    now: () => clock.ms,
    sleep: async (ms: number) => {
      clock.ms += Math.ceil(ms);
    },
  };
  const begunAt = clock.ms;
  const logged: { message: string; facts: Record<string, unknown> | undefined }[] = [];
  const parts: HostParts = {
    albums: createSqliteAlbums(database),
    images: createSqliteImages(database),
    blobs: createFolderBlobs({ folder: blobFolder, fileBody: bunRuntime.fileBody }),
    state: createSqliteState(database),
    locks: createLocalLocks(),
    limiter: createLocalRateLimiter({ now: clock.now }),
    codec,
    clock,
    random: randomBytes,
    // The usual cost would take the tests of guesses seconds.
    hasher: createPasswordHasher(randomBytes, { costLog2: 6 }),
    folder,
    limits: {
      maxUploadBytes: MAX_UPLOAD_BYTES,
      maxPixels: 100_000_000,
      maxFrames: 500,
      retentionMs: 90 * DAY_MS,
      cleanupIntervalMs: DAY_MS,
      strayRetentionMs: 7 * DAY_MS,
      heic: true,
      cacheMaxAgeMs: DAY_MS,
      listing: 'public',
      maxExpiryMs: MOST_EXPIRY_MS,
      deleteByAddressMs: Number.POSITIVE_INFINITY,
    },
    audit: testAudit(database, {
      state: createSqliteState(database),
      locks: createLocalLocks(),
      now: clock.now,
    }),
    log: (_level, message, facts) => void logged.push({ message, facts: plainFacts(facts) }),
  };
  const options = { ...parts, ...change?.(parts) };
  await pairStores({ ...options, shared: { records: false, files: false }, clock: systemClock });
  const service = await createImageService(options);
  const albums = createAlbums({
    ...options,
    service,
    rules: options.limits,
    retentionMs: options.limits.retentionMs,
  });
  const contexts = createContexts({
    clients: createClients({ trust: createProxyTrust([]), log: () => {}, now: Date.now }),
    publicUrl: undefined,
    adminToken,
  });
  const web = await openTestWeb(basePath);
  const app = createApp({
    web,
    version: '0.0.0',
    features: [
      {
        name: 'Image',
        basePath,
        routes: [
          ...imageRoutes({
            service,
            albums,
            ...(countReads && { countReads }),
            basePath,
            siteOf: web.siteOf,
          }),
          galleryRoute({ service, basePath, siteOf: web.siteOf, open: true }),
          oembedRoute({ service, basePath, siteOf: web.siteOf }),
        ],
        home: (site, request) => imageHome(site, request, { service, basePath }),
        stats: async () => statsView(await service.summary(), service.limits),
        statsAnswer,
      },
    ],
    contexts,
    limits: null,
    health: [],
    publicUrl: undefined,
    allowedHosts: ['img.example'],
    log: options.log,
    now: clock.now,
  });

  /** A request to the application, as from the network. */
  const send = (path: string, init?: RequestInit, peer = UPLOADER) =>
    app.handle(new Request(`http://img.example${basePath}${path}`, init), () => peer);

  return {
    ...options,
    service,
    albums,
    clock,
    logged,
    app,
    send,
    /** Uploads the bytes as the body and answers what the server said; fails where it refused. */
    async upload(bytes: Uint8Array<ArrayBuffer>, query = '', peer = UPLOADER): Promise<UploadAnswer> {
      const answer = await send(`/api/upload?${query}`, { method: 'POST', body: bytes }, peer);
      if (answer.status !== 201) throw new Error(`upload: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as UploadAnswer;
    },
    /** Lets time pass in which the server runs. */
    async serve(ms: number): Promise<void> {
      clock.ms += Math.ceil(ms);
      const account = { at: clock.ms, pauses: [[0, begunAt]], doubt: null };
      await options.state.set(SERVICE_STATE, JSON.stringify(account));
    },
    /** Names of the stored files. */
    async files(): Promise<string[]> {
      const names = await readdir(blobFolder, { recursive: true }).catch(() => []);
      return names.filter((name) => name.includes('.')).map((name) => name.split('/').at(-1) ?? name);
    },
    temporaryFiles: () => readdir(folder),
    /** Stores a file of an image without a record. */
    async stray(id: string, content = 'of a lost image'): Promise<void> {
      const path = join(folder, `stray-${id}`);
      await writeFile(path, content);
      await options.blobs.put(`${id}.webp`, path, 'image/webp');
    },
    /** Makes all stored files so much older, but for the marks. */
    async age(ms: number): Promise<void> {
      for (const name of await readdir(blobFolder, { recursive: true })) {
        const then = (Date.now() - ms) / 1000;
        if (name.includes('.')) await utimes(join(blobFolder, name), then, then);
      }
    },
    async stop() {
      await service.stop();
      database.close();
      await rm(root, { recursive: true, force: true });
    },
  };
}

export type ImageHost = Awaited<ReturnType<typeof startImageHost>>;

export interface UploadAnswer {
  removed: string[];
  success: boolean;
  id: string;
  url: string;
  raw_url: string;
  markdown: string;
  html: string;
  bbcode: string;
  width: number;
  height: number;
  size: number;
  format: string;
  frames: number;
  filename: string;
  protected: boolean;
  created_at: string;
  delete_token: string;
  delete_url: string;
}

/** The path of a link, to be sent to the application. */
export function pathOf(link: string, basePath = ''): string {
  const { pathname, search } = new URL(link);
  return pathname.slice(basePath.length) + search;
}
