import { describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { cp, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AppError, inEnglish } from '../../src/errors.ts';
import { fail } from '../../src/findings/finding.ts';
import { createDoubts } from '../../src/image/maintenance/doubts.ts';
import { EPOCH_BLOB, EPOCH_STATE } from '../../src/image/maintenance/epoch.ts';
import { FILES_MISSING, giveUpFiles } from '../../src/image/maintenance/missing-files.ts';
import { writeNote } from '../../src/image/maintenance/note.ts';
import { readStrayBytes } from '../../src/image/maintenance/quarantine.ts';
import { IDENTITY_STATE, readMark } from '../../src/image/maintenance/store-identity.ts';
import { mostUnasked } from '../../src/image/maintenance/survey.ts';
import { type SweepOptions, sweep } from '../../src/image/maintenance/sweep.ts';
import { createId } from '../../src/image/records/ids.ts';
import { createReviews } from '../../src/image/review/reviews.ts';
import { temporaryPath } from '../../src/image/upload/temporary-file.ts';
import { DAY_MS, HOUR_MS, type ImageHost, pathOf } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { quarters } from '../support/images/images.ts';
import { image } from '../support/stores/records.ts';

const hosts = imageHosts();
const png = new Uint8Array(await quarters(400, 300).png().toBuffer());

const withHost = hosts.use;

const LOST = ['lost00000001', 'lost00000002', 'lost00000003', 'lost00000004'] as const;

function run(host: ImageHost, more: Partial<SweepOptions> = {}) {
  const { now } = host.clock;
  const { strayRetentionMs } = host.limits;
  const doubts = createDoubts({ ...host, now });
  const straysBefore = now() - strayRetentionMs;
  return sweep({ ...host, now, straysBefore, doubts, ...more }, new AbortController().signal);
}

async function withStrays(work: (host: ImageHost) => Promise<void>, count = 1): Promise<void> {
  await withHost(async (host) => {
    await host.upload(png);
    for (const id of LOST.slice(0, count)) await host.stray(id);
    await host.age(2 * HOUR_MS);
    await work(host);
  });
}

test('while all files are gone although their mark is there, nothing is stored until they are given up', () =>
  withHost(async (host) => {
    const upload = async () => {
      // The stores are asked again.
      host.clock.ms += 10_001;
      return (await host.send('/api/upload', { method: 'POST', body: png })).status;
    };
    for (let count = 0; count < 2; count++) await host.upload(png);
    for (const name of await host.files()) await host.blobs.remove(name);
    expect(await readMark(host.blobs)).not.toBe(null);
    expect(await upload()).toBe(503);
    expect(await host.service.doubts()).toMatchObject([{ text: FILES_MISSING }]);

    await giveUpFiles(host);
    expect(await upload()).toBe(201);
    expect(await host.service.doubts()).toEqual([]);

    // As long as there are others, some lost files are no such case.
    await giveUpFiles(host);
    host.clock.ms++;
    const lost = await host.upload(png);
    await host.blobs.remove(`${lost.id}.webp`);
    expect(await upload()).toBe(201);
  }));

test('a picture that was approved while files of an earlier time were mounted gets its file back', () =>
  withHost(async (host) => {
    const record = await host.images.get((await host.upload(png)).id);
    if (!record) throw new Error('no record');
    const clock = { ...host.clock, now: host.clock.now };
    const reviews = createReviews({ ...host, clock, onStored() {}, discard: host.service.discard });
    const held = { ...record, id: 'reviewreview' };
    await writeFile(join(host.folder, 'held'), new Uint8Array(record.size));
    await reviews.hold(held, join(host.folder, 'held'));
    const [files, earlier] = [join(host.folder, '../blobs'), join(host.folder, 'earlier')];
    await cp(files, earlier, { recursive: true });
    await reviews.decide(held.id, 'allow');
    await rm(files, { recursive: true });
    await rename(earlier, files);

    expect((await host.send('/i/reviewreview.webp')).status).toBe(404);
    expect(await run(host)).toMatchObject({ missing: 1, restored: 1, complete: true });
    expect((await host.send('/i/reviewreview.webp')).status).toBe(200);
    expect(await run(host)).toMatchObject({ missing: 0, restored: 0, complete: true });
  }));

describe('the sweep', () => {
  test('puts files without a record into quarantine after an hour, and touches nothing else', () =>
    withHost(async (host) => {
      const kept = await host.upload(png);
      await host.stray(LOST[0]);
      const foreign = join(host.folder, 'foreign');
      await writeFile(foreign, 'not ours');
      await host.blobs.put('notes.txt', foreign, 'text/plain');

      expect(await run(host)).toMatchObject({ quarantined: 0, complete: true });
      await host.age(2 * HOUR_MS);
      expect(await run(host)).toMatchObject({ quarantined: 1, removed: 0, missing: 0, complete: true });
      expect((await host.files()).sort()).toEqual(
        [`${kept.id}.webp`, 'notes.txt', `stray_${LOST[0]}.webp`].sort(),
      );
      expect((await host.send(`/i/${LOST[0]}.webp`)).status).toBe(404);
      expect((await host.send(`/i/stray/${LOST[0]}.webp`)).status).toBe(404);
    }));

  test('removes what was in quarantine for its whole time, and not before', () =>
    withStrays(async (host) => {
      await run(host);
      host.clock.ms += 7 * DAY_MS - HOUR_MS;
      expect(await run(host)).toMatchObject({ removed: 0 });
      host.clock.ms += 2 * HOUR_MS;
      expect(await run(host)).toMatchObject({ removed: 1, freedBytes: 15 });
      expect(await host.files()).toHaveLength(1);
    }));

  test('removes at once a file without a record whose content is blocked', () =>
    withStrays(async (host) => {
      const blocked = createHash('sha256').update('of a lost image').digest('hex');
      const mayStore = async (hash: string) => {
        if (hash === blocked) throw new AppError('forbidden', inEnglish('blocked'));
      };
      expect(await run(host, { mayStore })).toMatchObject({ removed: 1, quarantined: 0 });
    }));

  test('takes a file out of quarantine when its record is there again', () =>
    withHost(async (host) => {
      const [image, other] = [await host.upload(png), await host.upload(png)];
      const key = `${image.id}.webp`;
      await host.blobs.move(key, `stray/${key}`);
      expect(await run(host)).toMatchObject({ restored: 1 });
      expect((await host.files()).sort()).toEqual([key, `${other.id}.webp`].sort());
      expect(await readStrayBytes(host.state)).toBe(0);
    }));

  test('a record that is there again finds its file in quarantine even before the next sweep', () =>
    withHost(async (host) => {
      const image = await host.upload(png);
      const key = `${image.id}.webp`;
      await host.blobs.move(key, `stray/${key}`);
      expect((await host.send(`${pathOf(image.raw_url)}?w=160`)).status).toBe(200);
      expect((await host.files()).sort()).toEqual([`${image.id}-160.webp`, key]);
      await host.blobs.move(key, `stray/${key}`);
      expect((await host.send(pathOf(image.raw_url))).status).toBe(200);
      expect(await host.files()).toContain(key);
    }));

  test('leaves more files than a mishap explains alone until somebody confirms', () =>
    withStrays(async (host) => {
      const report = await run(host);
      expect(report).toMatchObject({ quarantined: 0, unconfirmed: 4 });
      expect(host.logged.map(({ message }) => message)).toContain(
        'too many files without a record: inspect them with picpool sweep',
      );
      expect(await run(host, { confirmed: true })).toMatchObject({ quarantined: 4, unconfirmed: 0 });
    }, 4));

  test('is not asked for three files, for 5 % of many, and for twenty at the most', () => {
    expect([0, 10, 79, 80, 200, 399, 400, 1e6].map(mostUnasked)).toEqual([3, 3, 3, 4, 10, 19, 20, 20]);
  });

  test('takes no file that only looks old because this clock is ahead', () =>
    withHost(async (host) => {
      await host.upload(png);
      await host.stray(LOST[0]);
      host.clock.ms += 2 * HOUR_MS;
      expect(await run(host)).toMatchObject({ quarantined: 0, complete: true });
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

  test('removes temporary files after an hour, and nothing that somebody else keeps beside them', () =>
    withHost(async (host) => {
      const [uuid, young] = [crypto.randomUUID(), basename(temporaryPath(host.folder))];
      const ends = ['.in', '.out'].map((end) => uuid + end);
      const starts = ['upload', 'scan', 'note', 'picpool-migrate'].map((kind) => `${kind}-${uuid}`);
      const copies = ['', '-wal', '-shm'].map((end) => `copy-${uuid}.db${end}`);
      const foreign = ['a.out', 'thesis.tex', `${uuid}.tex`];
      const left = [
        ...ends,
        ...starts,
        ...copies,
        `${createId((length) => crypto.getRandomValues(new Uint8Array(length)))}.out`,
        ...foreign,
      ];
      const hourAgo = (host.clock.ms - HOUR_MS) / 1000 - 1;
      for (const name of [...left, young]) await writeFile(join(host.folder, name), 'x');
      for (const name of left) await utimes(join(host.folder, name), hourAgo, hourAgo);
      await run(host);
      expect((await host.temporaryFiles()).sort()).toEqual([...foreign, young].sort());
    }));
});

describe('nothing is moved', () => {
  const FAULTS: [name: string, make: (host: ImageHost) => Promise<unknown>, reason: string][] = [
    [
      'while the records carry another mark',
      ({ state }) => state.set(IDENTITY_STATE, 'other'),
      'other records',
    ],
    [
      'while the records are older than the files',
      ({ state }) => state.set(EPOCH_STATE, '0'),
      'older than the files',
    ],
    [
      'while the files are older than the records',
      ({ state }) => state.set(EPOCH_STATE, '7'),
      'older than the records',
    ],
    ['while the files have lost their mark', ({ blobs }) => blobs.remove(EPOCH_BLOB), 'have lost the mark'],
    [
      'while there are files and no record',
      async ({ images }) => {
        for (const { id } of await images.recent({ offset: 0, limit: 9 })) await images.remove(id);
      },
      'There are image files, but no records',
    ],
  ];

  test.each(FAULTS)('%s', (_name, make, reason) =>
    withStrays(async (host) => {
      const files = (await host.files()).sort();
      await make(host);
      expect(await run(host)).toMatchObject({ quarantined: 0, removed: 0, complete: false });
      expect((await host.files()).sort()).toEqual(files);
      expect(JSON.stringify(host.logged)).toContain(reason);
    }, LOST.length),
  );

  test('but a few files without any record, as a crash in the first uploads leaves them, raise no doubt', () =>
    withHost(async (host) => {
      for (const id of LOST.slice(1)) await host.stray(id);
      await host.age(2 * HOUR_MS);
      expect(await run(host)).toMatchObject({ quarantined: 3, complete: true });
    }));

  test('nor are files of uploads that are under way', () =>
    withHost(async (host) => {
      for (const id of LOST) await host.stray(id);
      expect(await run(host)).toMatchObject({ quarantined: 0, complete: true });
    }));

  test('nor are files of deleted images that could not be removed yet', () =>
    withHost(async (host) => {
      for (const id of LOST) {
        await host.stray(id);
        await host.images.insert(image({ id }));
        await host.images.remove(id);
      }
      await host.age(2 * HOUR_MS);
      expect(await run(host)).toMatchObject({ removed: LOST.length, complete: true });
    }));

  test('once there were files and no record, also after later uploads, until every file has its record', () =>
    withHost(async (host) => {
      for (const id of LOST) await host.stray(id);
      await host.age(2 * HOUR_MS);
      expect(await run(host)).toMatchObject({ complete: false });
      await host.upload(png);
      expect(await run(host)).toMatchObject({ quarantined: 0, complete: false });
    }));

  test('where the doubt arises between two batches', () =>
    withStrays(async (host) => {
      let looks = 0;
      const look = async () => (++looks === 1 ? [] : [fail('emptied just now')]);
      expect(await run(host, { doubts: { look } })).toMatchObject({ quarantined: 0, complete: false });
    }));

  test('and an interrupted step of the epoch raises no doubt', () =>
    withStrays(async (host) => {
      const epoch = Number(await host.state.get(EPOCH_STATE));
      await writeNote(host.blobs, host.folder, EPOCH_BLOB, String(epoch));
      await host.state.set(EPOCH_STATE, String(epoch + 1));
      expect(await run(host)).toMatchObject({ quarantined: 1, complete: true });
    }));
});
