import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAccessLog } from '../../src/image/maintenance/accesses.ts';
import { createCleanup } from '../../src/image/maintenance/cleanup.ts';
import { createDoubts } from '../../src/image/maintenance/doubts.ts';
import { runWhenDue } from '../../src/image/maintenance/maintenance.ts';
import { sweep } from '../../src/image/maintenance/sweep.ts';
import { type CodecBench, startCodec } from '../support/codec.ts';
import { DAY_MS, HOUR_MS, type ImageHost, pathOf, startImageHost } from '../support/image-host.ts';
import { quarters } from '../support/images.ts';
import { json } from '../support/json.ts';

let bench: CodecBench;
let png: Uint8Array<ArrayBuffer>;

beforeAll(async () => {
  bench = await startCodec();
  png = new Uint8Array(await quarters(400, 300).png().toBuffer());
});
afterAll(() => bench.stop());

async function withHost(
  work: (host: ImageHost) => Promise<void>,
  options: Partial<Parameters<typeof startImageHost>[0]> = {},
): Promise<void> {
  const host = await startImageHost({ codec: bench.codec, ...options });
  try {
    await work(host);
  } finally {
    await host.stop();
  }
}

const cleanUp = (host: ImageHost, headers: Record<string, string> = {}) =>
  host.send('/api/cleanup', { method: 'POST', headers });

describe('the clean-up', () => {
  test('removes what nobody has opened for 90 days, and says how much', () =>
    withHost(async (host) => {
      const old = await host.upload(png);
      await host.send(`${pathOf(old.raw_url)}?w=160`);
      const viewed = await host.upload(png);
      host.clock.ms += 50 * DAY_MS;
      const young = await host.upload(png);
      await host.send(pathOf(viewed.raw_url));
      host.clock.ms += 41 * DAY_MS;

      const answer = await cleanUp(host);
      expect(answer.status).toBe(200);
      expect(await json(answer)).toEqual({
        success: true,
        removed: 1,
        freed_bytes: old.size,
        complete: true,
      });
      expect((await host.send(pathOf(old.raw_url))).status).toBe(404);
      expect((await host.files()).sort()).toEqual([`${viewed.id}.webp`, `${young.id}.webp`].sort());
      expect(await json(await cleanUp(host))).toMatchObject({ removed: 0, freed_bytes: 0 });
    }));

  test('spares an image that was opened a moment ago, before that was written', () =>
    withHost(async (host) => {
      const image = await host.upload(png);
      host.clock.ms += 91 * DAY_MS;
      await host.send(pathOf(image.raw_url));
      expect(await json(await cleanUp(host))).toMatchObject({ removed: 0 });
      expect((await host.send(pathOf(image.raw_url))).status).toBe(200);
    }));

  test('works through many batches', () =>
    withHost(async (host) => {
      const image = await host.upload(png);
      const record = await host.images.get(image.id);
      if (!record) throw new Error('no record');
      for (let count = 0; count < 250; count++) {
        await host.images.insert({ ...record, id: `copy${String(count).padStart(8, '0')}` });
      }
      host.clock.ms += 91 * DAY_MS;
      expect(await json(await cleanUp(host))).toMatchObject({ removed: 251, complete: true });
    }));

  test('needs the administrator once there is one', () =>
    withHost(
      async (host) => {
        const refused = await cleanUp(host);
        expect(refused.status).toBe(401);
        expect(await json(refused)).toMatchObject({ code: 'unauthorized' });
        const allowed = await cleanUp(host, { authorization: 'Bearer an-administrator-token' });
        expect(allowed.status).toBe(200);
      },
      { adminToken: 'an-administrator-token' },
    ));

  test('runs once at a time: callers share it, another server is refused', () =>
    withHost(async (host) => {
      await host.upload(png);
      host.clock.ms += 91 * DAY_MS;
      const answers = await Promise.all([cleanUp(host), cleanUp(host)]);
      const counts = await Promise.all(answers.map((answer) => json<{ removed: number }>(answer)));
      expect(counts.map(({ removed }) => removed)).toEqual([1, 1]);

      const lease = await host.locks.acquire('cleanup', 60_000);
      const refused = await cleanUp(host);
      expect(refused.status).toBe(409);
      await lease?.release();
      expect((await cleanUp(host)).status).toBe(200);
    }));

  test('stops when its time is over and goes on the next time', () =>
    withHost(async (host) => {
      await host.upload(png);
      host.clock.ms += 91 * DAY_MS;
      expect(await host.service.cleanup(0)).toEqual({ removed: 0, freedBytes: 0, complete: false });
      expect(await host.service.cleanup(1000)).toMatchObject({ removed: 1, complete: true });
    }));
});

describe('the sweep', () => {
  const run = (host: ImageHost) => {
    const { now } = host.clock;
    return sweep({ ...host, now, doubts: createDoubts({ ...host, now }) }, new AbortController().signal);
  };

  test('removes files without a record after an hour, and nothing else', () =>
    withHost(async (host) => {
      const [kept, stray] = [await host.upload(png), await host.upload(png)];
      await host.send(`${pathOf(stray.raw_url)}?w=160`);
      await host.images.remove(stray.id);
      const foreign = join(host.folder, 'foreign');
      await writeFile(foreign, 'not ours');
      await host.blobs.put('notes.txt', foreign, 'text/plain');

      expect(await run(host)).toEqual({
        removed: 0,
        freedBytes: 0,
        missing: 0,
        versionBytes: 0,
        complete: true,
      });
      host.clock.ms += 2 * HOUR_MS;
      const report = await run(host);
      expect(report).toMatchObject({ removed: 2, missing: 0 });
      expect(report.freedBytes).toBeGreaterThan(stray.size);
      expect((await host.files()).sort()).toEqual([`${kept.id}.webp`, 'notes.txt'].sort());
    }));

  test('reports records without a file and keeps them', () =>
    withHost(async (host) => {
      const image = await host.upload(png);
      await host.upload(png);
      await host.blobs.remove(`${image.id}.webp`);
      expect(await run(host)).toMatchObject({ removed: 0, missing: 1 });
      expect(host.logged).toContainEqual({ message: 'records without a file', facts: { count: 1 } });
      expect(await host.images.get(image.id)).not.toBeNull();
    }));

  test('removes temporary files after an hour', () =>
    withHost(async (host) => {
      const [old, young] = [join(host.folder, 'upload-old'), join(host.folder, 'upload-young')];
      await writeFile(old, 'x');
      await writeFile(young, 'x');
      const hourAgo = (host.clock.ms - HOUR_MS) / 1000 - 1;
      await utimes(old, hourAgo, hourAgo);
      await run(host);
      expect(await host.temporaryFiles()).toEqual(['upload-young']);
    }));
});

describe('the scheduled clean-up', () => {
  test('runs when it is due, whichever server was the last to do it', () =>
    withHost(async (host) => {
      const image = await host.upload(png);
      const accesses = createAccessLog({ ...host, now: host.clock.now, onWritten: () => {} });
      const doubts = createDoubts({ ...host, now: host.clock.now });
      const cleanup = createCleanup({
        ...host,
        doubts,
        retentionMs: host.limits.retentionMs,
        now: host.clock.now,
        onRemoved: ({ id }) => host.blobs.remove(`${id}.webp`),
      });
      const counted: number[] = [];
      const onVersionBytes = async (bytes: number) => void counted.push(bytes);
      const turn = () =>
        runWhenDue({ ...host, accesses, cleanup, doubts, onVersionBytes }, new AbortController().signal);
      const runs = () => host.logged.filter(({ message }) => message === 'images cleaned up');

      await turn();
      expect(runs()).toHaveLength(1);
      host.clock.ms += DAY_MS - 1;
      await turn();
      expect(runs()).toHaveLength(1);
      host.clock.ms += 91 * DAY_MS;
      await turn();
      expect(runs().at(-1)?.facts).toMatchObject({ removed: 1, freed_bytes: image.size });
    }));

  test('starts and stops with the service', () =>
    withHost(async (host) => {
      host.service.start();
      host.service.start();
      await host.service.stop();
      await host.service.stop();
    }));
});
