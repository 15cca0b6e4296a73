import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import {
  type CodecOptions,
  type Converted,
  type ConvertJob,
  createCodec,
  type Order,
} from '../../../src/codec/codec.ts';
import { WORKER_COMMAND } from './worker-command.ts';

export interface Result extends Converted {
  bytes: Buffer;
}

/** Starts a codec with the configuration's defaults and the given options. */
export async function startCodec(options: Partial<CodecOptions> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'picpool-codec-'));
  const work = await mkdtemp(join(tmpdir(), 'picpool-work-'));
  const codec = createCodec({
    folder: work,
    command: WORKER_COMMAND,
    env: process.env,
    workers: 2,
    timeoutMs: 30_000,
    maxPixels: 100_000_000,
    maxFrames: 500,
    heic: true,
    memoryLimitBytes: 2 ** 31,
    sandbox: 'off',
    log: () => {},
    now: () => performance.now(),
    ...options,
  });
  let count = 0;
  return {
    codec,
    folder,
    /** Writes the bytes to a file, converts it, and reads the result. Neither file is left. */
    async convert(
      bytes: Uint8Array,
      job: Partial<ConvertJob> = {},
      { client = 'somebody', purpose = 'upload', signal }: Partial<Order> = {},
    ) {
      const number = ++count;
      const [input, output] = [join(folder, `in-${number}`), join(folder, `out-${number}`)];
      await writeFile(input, bytes);
      try {
        const converted = await codec.convert(
          { input, output, format: 'webp', stripExif: true, maxWidth: 4096, maxHeight: 4096, ...job },
          { client, purpose, ...(signal && { signal }) },
        );
        return { ...converted, bytes: await readFile(output) };
      } finally {
        // A worker may still read for a caller that has left.
        if (!signal?.aborted) await Promise.all([rm(input, { force: true }), rm(output, { force: true })]);
      }
    },
    /** Names of the files in the folder. */
    files: () => readdir(folder),
    async stop() {
      await codec.close();
      await rm(folder, { recursive: true, force: true });
      await rm(work, { recursive: true, force: true });
    },
  };
}

/** A codec with real workers and a temporary folder. */
export type CodecBench = Awaited<ReturnType<typeof startCodec>>;
