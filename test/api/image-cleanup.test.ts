import { describe, expect, test } from 'bun:test';
import { AppError, inEnglish } from '../../src/errors.ts';
import { createAccessLog } from '../../src/image/maintenance/accesses.ts';
import { createCleanup } from '../../src/image/maintenance/cleanup.ts';
import { createDoubts } from '../../src/image/maintenance/doubts.ts';
import { advanceEpoch, EPOCH_STATE } from '../../src/image/maintenance/epoch.ts';
import { LAST_RUN, turn } from '../../src/image/maintenance/maintenance.ts';
import { createServiceTime } from '../../src/image/maintenance/service-time.ts';
import { createRemovals } from '../../src/image/records/image-files.ts';
import { outdated } from '../../src/lib/locks.ts';
import { DAY_MS, type ImageHost, pathOf } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { quarters } from '../support/images/images.ts';
import { json } from '../support/json.ts';

const hosts = imageHosts();
const png = new Uint8Array(await quarters(400, 300).png().toBuffer());

const withHost = hosts.use;

const cleanUp = (host: ImageHost, headers: Record<string, string> = {}) =>
  host.send('/api/cleanup', { method: 'POST', headers });

describe('the cleanup', () => {
  test('removes what nobody has opened for 90 days, and says how much', () =>
    withHost(async (host) => {
      const old = await host.upload(png);
      await host.send(`${pathOf(old.raw_url)}?w=160`);
      const viewed = await host.upload(png);
      await host.serve(50 * DAY_MS);
      const young = await host.upload(png);
      await host.send(pathOf(viewed.raw_url));
      await host.serve(41 * DAY_MS);

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

  test('works through many batches', () =>
    withHost(async (host) => {
      const image = await host.upload(png);
      const record = await host.images.get(image.id);
      if (!record) throw new Error('no record');
      for (let count = 0; count < 250; count++) {
        await host.images.insert({ ...record, id: `copy${String(count).padStart(8, '0')}` });
      }
      await host.serve(91 * DAY_MS);
      expect(await json(await cleanUp(host))).toMatchObject({ removed: 251, complete: true });
    }));

  test('removes nothing for strangers within ten minutes of a complete one', () =>
    withHost(async (host) => {
      expect(await json(await cleanUp(host))).toMatchObject({ removed: 0, complete: true });
      await host.upload(png);
      const { clock } = host;
      await host.serve(91 * DAY_MS);
      await host.state.set('image-cleanup-asked-at', String(clock.now() - 9 * 60_000));
      expect(await json(await cleanUp(host))).toMatchObject({ removed: 0, complete: true });
      clock.ms += 60_000;
      expect(await json(await cleanUp(host))).toMatchObject({ removed: 1, complete: true });
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
      await host.serve(91 * DAY_MS);
      const answers = await Promise.all([cleanUp(host), cleanUp(host)]);
      const counts = await Promise.all(answers.map((answer) => json<{ removed: number }>(answer)));
      expect(counts.map(({ removed }) => removed)).toEqual([1, 1]);

      host.clock.ms += 10 * 60_000;
      const lease = await host.locks.acquire('cleanup', 60_000);
      const refused = await cleanUp(host);
      expect(refused.status).toBe(409);
      await lease?.release();
      expect((await cleanUp(host)).status).toBe(200);
    }));

  test('says that the store refuses it, when nobody else holds the lock', () =>
    withHost(
      async (host) => {
        await host.upload(png);
        await host.serve(91 * DAY_MS);
        const answer = await cleanUp(host);
        expect(answer.status).toBe(503);
        expect((await json<{ error: string }>(answer)).error).toContain('refuses the holder of this lock');
      },
      {
        change: ({ images }) => ({
          images: { ...images, removeIdle: () => Promise.reject(outdated()) },
        }),
      },
    ));

  test('stops when its time is over and goes on the next time', () =>
    withHost(async (host) => {
      await host.upload(png);
      await host.serve(91 * DAY_MS);
      expect(await host.service.cleanup(0, false)).toEqual({ removed: 0, freedBytes: 0, complete: false });
      expect(await host.service.cleanup(1000, false)).toMatchObject({ removed: 1, complete: true });
    }));
});

describe('the scheduled cleanup', () => {
  test('runs when it is due, whichever server was the last to do it', () =>
    withHost(async (host) => {
      const image = await host.upload(png);
      const accesses = createAccessLog({ ...host, now: host.clock.now, onWritten: () => {} });
      const doubts = createDoubts({ ...host, now: host.clock.now });
      const serviceTime = createServiceTime({ ...host, now: host.clock.now });
      const cleanup = createCleanup({
        ...host,
        doubts,
        serviceTime,
        accesses,
        retentionMs: host.limits.retentionMs,
        now: host.clock.now,
        onRemoved: ({ id }) => host.blobs.remove(`${id}.webp`),
        unfinished: { during: (_kind, _images, work) => work(() => {}) },
      });
      const counted: number[] = [];
      const takeTurn = () =>
        turn(
          {
            ...{ ...host, accesses, cleanup, doubts, serviceTime },
            now: host.clock.now,
            onVersionBytes: async (bytes) => void counted.push(bytes),
            blobs: { ...host.blobs, put },
            files: {
              takeChanged: () => isChanged,
              noteChange: () => void noted++,
              retryRemovals: async () => {},
            },
            removeEnded: async () => {},
          },
          new AbortController().signal,
        );
      let [isChanged, isFull, noted] = [false, false, 0];
      async function put(...file: Parameters<typeof host.blobs.put>): Promise<void> {
        if (!isFull) return host.blobs.put(...file);
        isFull = false;
        throw new Error('full');
      }
      const runs = () => host.logged.filter(({ message }) => message === 'images cleaned up');

      await takeTurn();
      expect(runs()).toHaveLength(1);
      expect(counted).toEqual([0]);
      await host.serve(DAY_MS - 1);
      await takeTurn();
      expect(runs()).toHaveLength(1);
      await host.serve(91 * DAY_MS);
      await takeTurn();
      expect(runs().at(-1)?.facts).toMatchObject({ removed: 1, freed_bytes: image.size });

      // A disk may be too full for the step of the epoch, which is taken later, but not for the cleanup.
      await host.serve(DAY_MS);
      [isChanged, isFull] = [true, true];
      await expect(takeTurn()).rejects.toThrow('full');
      expect([runs().length, noted]).toEqual([3, 1]);
      isChanged = false;

      // Another server that took over is nobody's fault; a store that refuses every server is.
      await host.state.setFenced(LAST_RUN, '0', Number.MAX_SAFE_INTEGER);
      await expect(takeTurn()).rejects.toMatchObject({ code: 'unavailable' });
      const epoch = (await host.state.get(EPOCH_STATE)) ?? '';
      await host.state.setFenced(EPOCH_STATE, epoch, Number.MAX_SAFE_INTEGER);
      await expect(advanceEpoch(host, host.folder)).rejects.toMatchObject({ code: 'unavailable' });
    }));

  test('is not kept from its work, nor are other files, by a file that cannot be removed', async () => {
    const removed: string[] = [];
    const stuck = new Set(['a', 'b']);
    const blobs = {
      async remove(key: string) {
        if (stuck.has(key)) throw new AppError('unavailable', inEnglish('The object is locked.'));
        removed.push(key);
      },
    };
    const { remove, retry } = createRemovals(blobs, () => {});
    await remove('a');
    await remove('b');
    stuck.delete('b');
    await retry();
    await retry();
    expect(removed).toEqual(['b']);
  });

  test('starts and stops with the service', () =>
    withHost(async (host) => {
      host.service.start();
      host.service.start();
      await host.service.stop();
      await host.service.stop();
    }));
});
