import { createHash } from 'node:crypto';
import { createLocalLocks } from '../../adapters/local/locks.ts';
import { createLocalRateLimiter } from '../../adapters/local/rate-limiter.ts';
import { createHolders } from '../../src/access/holders.ts';
import { createTokens } from '../../src/access/tokens.ts';
import { createIssuer, tokenRoutes } from '../../src/admin/token-routes.ts';
import { createApp } from '../../src/app.ts';
import { createAudit } from '../../src/audit/audit.ts';
import type { Codec, Converted } from '../../src/codec/codec.ts';
import { AppError, inEnglish } from '../../src/errors.ts';
import { createClients } from '../../src/http/client/clients.ts';
import { createProxyTrust } from '../../src/http/client/proxy-trust.ts';
import { createContexts } from '../../src/http/context.ts';
import type { PasswordHasher } from '../../src/image/access/password.ts';
import { createAlbums } from '../../src/image/albums/albums.ts';
import { readStrayBytes } from '../../src/image/maintenance/quarantine.ts';
import { pairLater, pairStores } from '../../src/image/maintenance/store-identity.ts';
import { createReviews } from '../../src/image/review/reviews.ts';
import { imageReviewRoutes } from '../../src/image/review/routes.ts';
import { imageRoutes } from '../../src/image/routes.ts';
import { statsAnswer } from '../../src/image/schemas.ts';
import { createVersionBytes } from '../../src/image/serve/thumbnails.ts';
import { createImageService, type ImageEvent } from '../../src/image/service.ts';
import { createQuota, type ImageLimits } from '../../src/image/upload/quota.ts';
import { statsView } from '../../src/image/views.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/logger.ts';
import type { RateLimiter } from '../../src/lib/rate-limiter.ts';
import { createBlocks } from '../../src/moderation/blocks.ts';
import { adminRoutes } from '../../src/moderation/routes.ts';
import { createWebhooks } from '../../src/webhooks/webhooks.ts';
import { openTestWeb } from '../support/browser/web.ts';
import { bytes, chance, happens } from './chance.ts';
import { readBytes, WORLD, writeBytes } from './files.ts';
import type { FilesModel } from './files-model.ts';
import type { LeaseWatch } from './leases.ts';
import type { RecordsModel } from './records-model.ts';
import type { Seams } from './seams.ts';
import { as, type Mortal, trueTime } from './time.ts';

export const ADMIN = 'the-administrator-of-the-world';
/** A picture that begins with this word waits for the administrator. */
export const SUSPECT = 'suspect';
/** A file that begins with this word cannot be decoded. */
export const SPOILT = 'spoilt';

/** One whole copy of the image host in the simulated world. */
export interface Copy extends Mortal {
  /** Answers a request; rejects when the copy dies. */
  ask(request: Request, peer: string): Promise<Response>;
  /** Aborts when it dies. */
  readonly died: AbortSignal;
  readonly startedAt: number;
  diedAt?: number;
  /** Whether its stores are its own. */
  readonly isAlone: boolean;
  /** Ends it in order. */
  stop(): Promise<void>;
  /** It takes no more requests, because it is being ended in order. */
  isLeaving: boolean;
  /** When it could not write down what it had begun with which pictures, so that nobody else knows of it. */
  unnoted: { at: number; ids: readonly string[] }[];
  /** When it last could not write who has viewed what. */
  unwrittenAt: number;
  /** It was, and has written everything. */
  hasEnded: boolean;
}

export interface CopyOptions {
  name: string;
  skewMs: number;
  records: RecordsModel;
  files: FilesModel;
  seams: Seams;
  limits: ImageLimits;
  maxBytes: number | undefined;
  /** Whether the stores are on this machine, and nobody else uses them. */
  alone: boolean;
  /** Of all copies together, unless one is alone. */
  limiter: RateLimiter;
  leases: LeaseWatch;
  /** Returns the number of the message. */
  onEvent: (event: ImageEvent, by: Copy) => number;
  /** Called with the number of each message that is tried, and again if it reaches the receiver of webhooks. */
  onMessage: (number: number, isReceived: boolean) => void;
  log: Log;
}

/** Costs no time, and no thread. */
const HASHER: PasswordHasher = {
  hash: async (password) => `plain$${password}`,
  verify: async (password, encoded) => encoded === `plain$${password}`,
};

/** How the keys begin of notes about pictures with which something was begun. */
const UNFINISHED = 'image-unfinished:';
const idsIn = (note: string): string[] => JSON.parse(note).images.map(({ id }: { id: string }) => id);

const web = await openTestWeb();

/** Starts a copy. It may die before it has started. */
export async function startCopy(options: CopyOptions): Promise<Copy> {
  const { name, skewMs, records, files, seams, limits, alone } = options;
  const log: Log = (level, message, facts) => {
    if (message === 'accesses not written') copy.unwrittenAt = trueTime();
    options.log(level, message, facts);
  };
  const death = new AbortController();
  const self: Mortal = { name, skewMs, isAlive: true };
  const copy = Object.assign(self, {
    ...{ died: death.signal, isAlone: alone, isLeaving: false, hasEnded: false, unnoted: [] },
    unwrittenAt: Number.NEGATIVE_INFINITY,
    startedAt: trueTime(),
  }) as unknown as Copy;
  let isAlive = true;
  Object.defineProperty(copy, 'isAlive', {
    get: () => isAlive,
    set: (alive: boolean) => {
      if (isAlive && !alive) copy.diedAt = trueTime();
      isAlive &&= alive;
      if (!alive) death.abort(new Error(`${name} has died`));
    },
  });

  const whenDead = new Promise<never>((_, reject) =>
    death.signal.addEventListener('abort', () => reject(death.signal.reason)),
  );
  whenDead.catch(() => {});
  const started = as(copy, async () => {
    const images = seams.around('images', records.images);
    const blobs = seams.around('files', files.blobs);
    const values = seams.around('state', options.leases.state(records.state));
    const state = {
      ...values,
      set: (key: string, value: string) =>
        values.set(key, value).catch((cause: unknown) => {
          if (key.startsWith(UNFINISHED)) copy.unnoted.push({ at: trueTime(), ids: idsIn(value) });
          throw cause;
        }),
    };
    const locks = options.leases.locks(
      alone ? createLocalLocks(records.lastToken) : records.locks(seams.ask),
    );
    const folder = `${WORLD}${name}`;
    const limiter = alone ? createLocalRateLimiter() : options.limiter;
    const codec = createCodec(seams);
    const stores = { images, blobs, state, locks, limiter };
    const clock = systemClock;
    const webhooks = createWebhooks({
      urls: ['https://hooks.example/'],
      secret: 'secret',
      fetch(_, { body }) {
        const { number } = JSON.parse(String(body)).data;
        options.onMessage(number, false);
        return seams.ask('webhook', async () => {
          options.onMessage(number, true);
          return { status: 200, headers: new Headers(), discard() {} } as never;
        });
      },
      clock,
      newId: () => bytes(8).toString('hex'),
      random: chance,
      log,
    });
    const onEvent = (event: ImageEvent) => {
      webhooks.send(`image.${event.type}`, { number: options.onEvent(event, copy) });
    };
    const reviews = createReviews({
      ...stores,
      clock,
      onStored: (image) => onEvent({ type: 'stored', image }),
      discard: (image, mayCome) => service.discard(image, mayCome),
    });
    const pair = { ...stores, folder, shared: { records: !alone, files: !alone }, clock, log };
    const paired = await pairStores(pair);
    const audit = createAudit({
      audit: seams.around('audit', records.audit),
      ...{ state, locks, log },
      keepDays: 365,
      clock,
      newId: () => bytes(16).toString('hex'),
      hide: (peer) => peer,
    });
    const monotonic = () => performance.now();
    const blocks = createBlocks({ ...stores, now: Date.now });
    const service = await createImageService({
      ...stores,
      audit,
      codec,
      clock,
      random: bytes,
      hasher: HASHER,
      folder,
      quota: createQuota({
        counts: [
          () => images.summary().then(({ bytes }) => bytes),
          ...[createVersionBytes(state).total, () => readStrayBytes(state), reviews.bytes],
        ],
        maxBytes: options.maxBytes,
        reserveBytes: 0,
        folders: [],
        now: monotonic,
      }),
      mayStore: blocks.mayStore,
      async holdBack(image, path) {
        if (!new TextDecoder().decode(readBytes(path)).startsWith(SUSPECT)) return false;
        await reviews.hold(image, path);
        return true;
      },
      reviews,
      onCleaned: async (signal, idleBefore) => void (await albums.sweep(signal, idleBefore)),
      onEvent,
      limits,
      log,
    });
    const albums = createAlbums({
      ...stores,
      albums: seams.around('albums', records.albums),
      audit,
      service,
      rules: limits,
      retentionMs: limits.retentionMs,
      clock,
      random: bytes,
      log,
    });
    const tokens = createTokens({ state, random: bytes, now: Date.now });
    const siteOf = web.siteOf;
    const app = createApp({
      web,
      version: '0.0.0',
      features: [
        {
          name: 'Image',
          basePath: '',
          routes: [
            ...imageRoutes({ service, albums, basePath: '', siteOf }),
            ...imageReviewRoutes(reviews, audit),
            ...adminRoutes(blocks, audit),
            ...tokenRoutes({ tokens, issuer: createIssuer(tokens, audit), readUsage: async () => ({}) }),
          ],
          stats: async () => statsView(await service.summary(), limits),
          statsAnswer,
        },
      ],
      contexts: createContexts({
        clients: createClients({ trust: createProxyTrust([]), log: () => {}, now: Date.now }),
        publicUrl: undefined,
        adminToken: ADMIN,
      }),
      holders: createHolders({ tokens, limiter, mostBytes: 0, now: monotonic }),
      limits: null,
      health: [],
      publicUrl: undefined,
      allowedHosts: ['img.example'],
      log,
      now: monotonic,
    });
    if (!paired) void pairLater(pair, death.signal);
    service.start();
    audit.start();
    const asked = new Set<Promise<Response>>();
    async function stop(): Promise<void> {
      copy.isLeaving = true;
      const since = trueTime();
      await Promise.allSettled(asked);
      await Promise.all([service.stop(), audit.stop(), webhooks.stop()]);
      copy.hasEnded = copy.unwrittenAt < since;
    }
    return Object.assign(copy, {
      ask: (request: Request, peer: string) =>
        as(copy, () => {
          const answer = Promise.resolve(app.handle(request, () => peer));
          asked.add(answer);
          return Promise.race([answer.finally(() => asked.delete(answer)), whenDead]);
        }),
      stop: () => as(copy, () => Promise.race([stop(), whenDead])).catch(() => {}),
    });
  });
  started.catch(() => {});
  return Promise.race([started, whenDead]);
}

const isSpoilt = (file: Uint8Array) => new TextDecoder().decode(file).startsWith(SPOILT);

/** What a picture is does not matter here: it stays as it came, and smaller versions are its beginning. */
function createCodec(seams: Seams): Pick<Codec, 'convert'> {
  return {
    convert: (job) =>
      seams
        .ask('codec.convert', async (): Promise<Converted> => {
          const source = readBytes(job.input);
          if (isSpoilt(source)) throw new AppError('not_an_image', inEnglish('The file is not a picture.'));
          const made = job.smallest ? source.slice(0, Math.ceil(source.length / 4)) : source;
          writeBytes(job.output, made);
          return {
            format: job.format === 'auto' ? 'webp' : job.format,
            width: Math.min(job.maxWidth, 2000),
            height: 1000,
            frames: 1,
            size: made.length,
            hash: createHash('sha256').update(made).digest('hex'),
            original: {
              format: 'webp',
              size: source.length,
              width: 2000,
              height: 1000,
              kept: true,
              quality: null,
            },
            look: null,
            exif: null,
            removed: [],
            warnings: [],
          };
        })
        .catch((cause) => {
          if (cause.code === 'not_an_image') throw cause;
          // A worker that dies says nothing that its caller could know.
          throw happens(0.5) ? cause : new Error('conversion failed');
        }),
  };
}
