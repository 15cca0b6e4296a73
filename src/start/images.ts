import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { createCodec } from '../image/codec/codec.ts';
import { imageRoutes } from '../image/routes.ts';
import { statsAnswer } from '../image/schemas.ts';
import { createImageService } from '../image/service.ts';
import { statsView } from '../image/views.ts';
import { systemClock } from '../shared/clock.ts';
import type { Parts, RunningFeature } from './feature.ts';

/** Puts the image host together. */
export async function startImages({
  runtime,
  config,
  env,
  stores,
  contextOf,
  log,
}: Parts): Promise<RunningFeature> {
  const limits = {
    maxUploadBytes: config.IMAGE_MAX_UPLOAD,
    maxPixels: config.IMAGE_MAX_PIXELS,
    maxFrames: config.IMAGE_MAX_FRAMES,
    retentionMs: config.IMAGE_RETENTION,
    cleanupIntervalMs: config.IMAGE_CLEANUP_INTERVAL,
  };
  const codec = createCodec({
    command: runtime.selfCommand(),
    env,
    workers: config.IMAGE_WORKERS ?? availableParallelism(),
    timeoutMs: config.IMAGE_CONVERT_TIMEOUT,
    maxPixels: limits.maxPixels,
    maxFrames: limits.maxFrames,
    log,
    now: () => performance.now(),
  });
  const service = await createImageService({
    ...stores,
    codec,
    clock: systemClock,
    random: randomBytes,
    folder: join(resolve(config.DATA_DIR), 'tmp'),
    limits,
    log,
  });
  const basePath = config.IMAGE_BASE_PATH;
  return {
    name: 'Image host',
    basePath,
    routes: imageRoutes({ service, contextOf, adminRequired: config.ADMIN_TOKEN !== undefined, basePath }),
    stats: async () => statsView(await service.summary(), limits),
    statsAnswer,
    begin: service.start,
    async stop() {
      await service.stop();
      await codec.close();
    },
  };
}
