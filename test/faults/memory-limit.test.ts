import { describe, expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import { canLimitMemory, createMemoryGroup } from '../support/servers/memory-group.ts';
import { childrenOf } from '../support/servers/processes.ts';
import { type ServerProcess, startServer } from '../support/servers/server-process.ts';

const MIB = 2 ** 20;
const SETTINGS = { SERVICES: 'image', RATE_LIMITS: 'off', IMAGE_SANDBOX: 'require', LOG_LEVEL: 'warn' };

/** A PNG of one colour with so many megapixels: a few KB that take a lot of memory. */
async function plain(megapixels: number): Promise<Uint8Array<ArrayBuffer>> {
  const width = Math.round(1000 * Math.sqrt((megapixels * 3) / 2));
  const create = { width, height: Math.round((width * 2) / 3), channels: 3 as const, background: '#c86432' };
  return new Uint8Array(await sharp({ create }).png({ compressionLevel: 1 }).toBuffer());
}

const upload = (server: ServerProcess, body: Uint8Array<ArrayBuffer>) =>
  fetch(`${server.url}/api/upload`, { method: 'POST', body });

describe.skipIf(!canLimitMemory())('in a container with little memory', () => {
  test.each([
    { limit: 512, workers: '', pictures: [24, 24] },
    { limit: 512, workers: '2', pictures: [24, 96, 24, 96] },
  ])(
    'of $limit MiB the kernel takes conversions and never the server, and nobody is told that a good picture is damaged',
    async ({ limit, workers, pictures }) => {
      const group = await createMemoryGroup(limit * MIB);
      const server = await startServer(
        'bun',
        { ...SETTINGS, ...(workers && { IMAGE_WORKERS: workers }) },
        undefined,
        group.wrapper,
      );
      const adjustment = async (pid: number) => Number(await readFile(`/proc/${pid}/oom_score_adj`, 'utf8'));
      try {
        expect((await upload(server, await plain(0.24))).status).toBe(201);
        expect(await adjustment(server.pid)).toBeLessThan(1000);
        for (const pid of await childrenOf(server.pid)) expect(await adjustment(pid)).toBe(1000);
        const answers = await Promise.all(
          pictures.map(async (megapixels) => upload(server, await plain(megapixels))),
        );
        for (const answer of answers) {
          expect([201, 503]).toContain(answer.status);
          if (answer.status === 503) expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
        }
        // The process that answers now is the one that was started.
        expect((await fetch(`${server.url}/livez`)).status).toBe(200);
        expect((await upload(server, await plain(0.24))).status).toBe(201);
        const metrics = await (await fetch(`${server.url}/metrics`)).text();
        const counted = (name: string) => Number(new RegExp(`^${name} (\\d+)`, 'm').exec(metrics)?.[1]);
        expect(counted('picpool_conversion_worker_crashes_total')).toBe(0);
        if (answers.some(({ status }) => status === 503)) {
          expect(counted('picpool_conversion_out_of_memory_total')).toBeGreaterThan(0);
        }
      } finally {
        await server.stop();
        await group.remove();
      }
    },
    180_000,
  );
});
