import { join, resolve } from 'node:path';
import { type Codec, createCodec } from '../codec/codec.ts';
import { sandboxState } from '../codec/sandbox/report.ts';
import { capacityOf, describeCapacity } from '../codec/workers/capacity.ts';
import { createBudget } from '../codec/workers/price.ts';
import { removeOldWorkspaces } from '../codec/workers/workspace.ts';
import type { Config } from '../config.ts';
import { AppError, inEnglish } from '../errors.ts';
import { observeCodec } from '../image/metrics.ts';
import type { Parts } from './feature.ts';

/** Opens the codec of the configuration, with metrics. Starts no process. */
export async function openCodec({ runtime, config, env, stores, log, operations }: Parts): Promise<Codec> {
  const { metrics, now } = operations;
  const workFolder = join(resolve(config.DATA_DIR), 'work');
  await removeOldWorkspaces(workFolder);
  const plainCodec = createCodec({
    folder: workFolder,
    sandbox: config.IMAGE_SANDBOX,
    command: runtime.selfCommand(),
    env,
    workers: capacityOf(config.IMAGE_WORKERS).workers,
    timeoutMs: config.IMAGE_CONVERT_TIMEOUT,
    maxPixels: config.IMAGE_MAX_PIXELS,
    maxFrames: config.IMAGE_MAX_FRAMES,
    heic: config.IMAGE_HEIC,
    memoryLimitBytes: config.IMAGE_WORKER_MEMORY,
    ...(config.RATE_LIMITS && {
      budget: createBudget(stores.limiter, config.RATE_LIMITS.conversion),
    }),
    log,
    now,
  });
  return observeCodec(plainCodec, metrics, now);
}

/** Rejects with `unavailable` if conversions must be sandboxed and cannot be. The log already says why. */
export async function requireSandbox(config: Config, codec: Codec): Promise<void> {
  if (config.IMAGE_SANDBOX !== 'require') return;
  await codec.ready().catch(async (cause) => {
    await codec.close();
    const message =
      'IMAGE_SANDBOX=require, but no conversion process starts with the whole sandbox. The log says why; picpool doctor says what is needed.';
    throw new AppError('unavailable', inEnglish(message), { cause });
  });
}

/** Rejects while no conversion process starts and none is left. */
export async function requireConversions(codec: Pick<Codec, 'stats'>): Promise<void> {
  if (codec.stats().unable) throw new Error('no conversion process starts');
}

/** Returns what the start message says, once a worker has shown what it gets. Never rejects. */
export async function describeConversions(config: Config, codec: Codec): Promise<string> {
  const capacity = describeCapacity(capacityOf(config.IMAGE_WORKERS));
  if (config.IMAGE_SANDBOX === 'off') return `none (IMAGE_SANDBOX=off); ${capacity}`;
  const state = await codec.ready().then(
    () => sandboxState(codec.stats().missing).text,
    () => 'unknown, because no conversion process starts (the log says why)',
  );
  return `${state}; ${capacity}`;
}
