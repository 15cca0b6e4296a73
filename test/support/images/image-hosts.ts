import { afterAll, beforeAll } from 'bun:test';
import { type CodecBench, startCodec } from '../codec/codec.ts';
import { type ImageHost, type ImageHostOptions, startImageHost } from './image-host.ts';

/** What a test may say about its image host. */
export type HostOptions = Omit<ImageHostOptions, 'codec'>;

/**
 * Image hosts of one file of tests. They share a codec, and those that are not stopped end with the file. To be called at the top
 * of a file, before its own hooks.
 */
export function imageHosts() {
  let bench: CodecBench;
  const running = new Set<() => Promise<void>>();

  beforeAll(async () => {
    bench = await startCodec();
  });
  afterAll(async () => {
    for (const stop of running) await stop();
    await bench.stop();
  });

  async function start(options: HostOptions = {}): Promise<ImageHost> {
    const host = await startImageHost({ codec: bench.codec, ...options });
    running.add(stop);
    async function stop(): Promise<void> {
      if (running.delete(stop)) await host.stop();
    }
    return { ...host, stop };
  }

  return {
    start,
    /** Starts a host for this work only. */
    async use(work: (host: ImageHost) => Promise<void>, options?: HostOptions) {
      const host = await start(options);
      await work(host).finally(() => host.stop());
    },
  };
}
