import { describe, expect, setSystemTime, test } from 'bun:test';
import { AppError, inEnglish } from '../../src/errors.ts';
import { createServiceTime } from '../../src/image/maintenance/service-time.ts';
import { DAY_MS, HOUR_MS, type ImageHost, pathOf } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { quarters } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { withServer } from '../support/servers/running-server.ts';
import { until } from '../support/stores/services.ts';

const hosts = imageHosts();
const png = new Uint8Array(await quarters(40, 30).png().toBuffer());

const TOKEN = 'a-token-of-the-administrator';
const withHost = (work: (host: ImageHost) => Promise<void>) => hosts.use(work, { adminToken: TOKEN });
const cleanUp = (host: ImageHost, query = '') =>
  host.send(`/api/cleanup${query}`, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}` } });
/** What another copy of the server, or the next process, does first and then every minute. */
const note = (host: ImageHost) => createServiceTime({ ...host, now: host.clock.now }).note();
const statusOf = async (host: ImageHost, link: string) => (await host.send(pathOf(link))).status;
/** Lets the time pass in steps in which the server notes that it runs. */
async function run(host: ImageHost, ms: number): Promise<void> {
  const stepMs = HOUR_MS / 6;
  for (let passed = 0; passed < ms; passed += stepMs) {
    host.clock.ms += Math.min(stepMs, ms - passed);
    await note(host);
  }
}

/** Expects that the cleanup refuses to remove anything, says why and what helps, and so does readiness. */
async function expectDoubt(host: ImageHost, reason: string): Promise<void> {
  const refused = await cleanUp(host);
  expect(refused.status).toBe(409);
  const answer = await json<{ error: string }>(refused);
  expect(answer).toMatchObject({ code: 'conflict', details: [{ field: 'confirm' }] });
  expect(answer.error).toStartWith(reason);
  expect(answer.error).toEndWith('if the clock is right, picpool cleanup --confirm ends this.');
  expect(await host.service.doubts()).toMatchObject([{ text: answer.error }]);
}

describe('time without service', () => {
  test('is confirmed by nobody but the administrator, even if anyone can clean up', async () => {
    const host = await hosts.start();
    host.clock.ms += 91 * DAY_MS;
    await note(host);
    const refused = await host.send('/api/cleanup?confirm=true', { method: 'POST' });
    expect([refused.status, (await json<{ code: string }>(refused)).code]).toEqual([403, 'forbidden']);
    expect(await host.service.doubts()).toHaveLength(1);
  });

  test('only postpones the end of what nobody views', () =>
    withHost(async (host) => {
      const [idle, viewed] = [await host.upload(png), await host.upload(png)];
      await run(host, 2 * DAY_MS);
      host.clock.ms += 300 * DAY_MS;
      await run(host, 2 * DAY_MS);
      await host.send(pathOf(viewed.raw_url));
      const account = JSON.parse((await host.state.get('image-service-time')) ?? '');
      host.clock.ms += 86 * DAY_MS - HOUR_MS;
      await host.state.set('image-service-time', JSON.stringify({ ...account, at: host.clock.ms }));
      expect(await json(await cleanUp(host))).toMatchObject({ removed: 0 });
      await run(host, 2 * HOUR_MS);
      expect(await json(await cleanUp(host))).toMatchObject({ removed: 1 });
      const left = [await statusOf(host, idle.raw_url), await statusOf(host, viewed.raw_url)];
      expect(left).toEqual([404, 200]);
    }));

  test('of a night raises no doubt', () =>
    withHost(async (host) => {
      host.clock.ms += 9 * HOUR_MS;
      await note(host);
      expect(await json(await cleanUp(host))).toMatchObject({ removed: 0, complete: true });
    }));

  test('comes in a thousand pieces at most', () =>
    withHost(async (host) => {
      for (let count = 0; count < 1100; count++) {
        host.clock.ms += HOUR_MS;
        await note(host);
      }
      const { pauses } = JSON.parse((await host.state.get('image-service-time')) ?? '');
      expect(pauses).toHaveLength(1000);
      expect([pauses[0][0], pauses.at(-1)[1]]).toEqual([0, host.clock.ms]);
    }));
});

test('a full disk, on which no time can be noted, keeps nothing from being removed', async () => {
  let isFull = false;
  const host = await hosts.start({
    change: ({ state }) => ({
      state: {
        ...state,
        setFenced: (...args) =>
          isFull
            ? Promise.reject(new AppError('storage_full', inEnglish('The disk is full.')))
            : state.setFenced(...args),
      },
    }),
  });
  const serviceTime = createServiceTime({ ...host, now: host.clock.now });
  isFull = true;
  for (let passed = 0; passed < 2 * DAY_MS; passed += HOUR_MS / 6) {
    host.clock.ms += HOUR_MS / 6;
    await expect(serviceTime.note()).rejects.toMatchObject({ code: 'storage_full' });
  }
  expect(await serviceTime.doubt()).toBe(null);
  expect(await serviceTime.servedFor(DAY_MS)).toBe(host.clock.ms - DAY_MS);
  host.clock.ms += 2 * DAY_MS;
  expect(await serviceTime.doubt()).not.toBe(null);
  await serviceTime.settle();
  expect(await serviceTime.doubt()).toBe(null);
});

describe('a clock', () => {
  test('stays in doubt until the server has run for a day, with pauses or not', () =>
    withHost(async (host) => {
      host.clock.ms += 2 * DAY_MS;
      await note(host);
      for (let day = 0; day < 3; day++) {
        host.clock.ms += 16 * HOUR_MS;
        await note(host);
        await run(host, 8 * HOUR_MS - 1);
        expect(await host.service.doubts()).toHaveLength(1);
      }
      await run(host, 3);
      expect(await host.service.doubts()).toEqual([]);
    }));

  test('that is hours behind that of another copy is named until the notes agree, and one that was never set', () =>
    withHost(async ({ clock, ...host }) => {
      const [behind, ahead, far] = [0, 12, 36].map((hours) =>
        createServiceTime({ ...host, now: () => clock.ms + hours * HOUR_MS }),
      );
      for (const copy of [behind, ahead, behind]) await copy?.note();
      const text = "The clock of this copy is 12 h behind another's, or was set back.";
      expect([behind?.skew(), ahead?.skew()]).toMatchObject([[{ level: 'warn', text }], []]);
      await behind?.note();
      expect(behind?.skew()).toEqual([]);
      // That is a doubt.
      for (const copy of [far, behind]) await copy?.note();
      expect(behind?.skew()).toEqual([]);
      const unset = createServiceTime({ ...host, now: () => HOUR_MS });
      expect(unset.skew()).toMatchObject([{ level: 'warn', text: expect.stringContaining('years behind') }]);
    }));

  test('that is set back by an hour makes /readyz degraded', () =>
    withServer({ SERVICES: 'image', ADMIN_TOKEN: TOKEN }, async ({ send }) => {
      const headers = { authorization: `Bearer ${TOKEN}` };
      await until(async () => {
        setSystemTime(Date.now() - HOUR_MS);
        // It notes the time, unless it is still doing so for its start.
        await send('/api/cleanup?confirm=true', { method: 'POST', headers });
        return (await (await send('/readyz')).text()).includes(
          '"degraded":["The clock of this copy is 60 min behind',
        );
      }).finally(() => setSystemTime());
    }));

  test.each([
    ['ahead', HOUR_MS],
    ['back', -HOUR_MS],
  ])('that jumps %s by an hour lets images be stored, found, listed and deleted as before', (_, ms) =>
    withHost(async (host) => {
      const before = await host.upload(png);
      host.clock.ms += ms;
      const after = await host.upload(png);
      const list = await json<{ images: { id: string }[] }>(await host.send('/api/list'));
      expect(list.images.map(({ id }) => id)).toEqual([after.id, before.id]);
      for (const { id, raw_url } of [before, after]) {
        expect(await statusOf(host, raw_url)).toBe(200);
        expect((await host.send(`/api/delete/${id}`, { method: 'DELETE' })).status).toBe(200);
        expect((await host.send(`/api/info/${id}`)).status).toBe(404);
      }
      expect((await host.service.cleanup(1000, true)).removed).toBe(0);
    }),
  );

  test('that was ahead keeps no picture whose last view ended with its server', () =>
    withHost(async (host) => {
      const { id, raw_url } = await host.upload(png, 'max_views=1');
      host.clock.ms += 2 * DAY_MS;
      await note(host);
      await host.images.takeView(id, 'token', host.clock.ms + HOUR_MS);
      host.clock.ms -= 2 * DAY_MS;
      await note(host);
      await host.images.prepare(new AbortController().signal);
      await host.service.removeEnded();
      expect(await statusOf(host, raw_url)).toBe(410);
    }));

  test('that stays ahead removes nothing for 90 days', () =>
    withHost(async (host) => {
      const image = await host.upload(png);
      host.clock.ms += 100 * DAY_MS;
      await run(host, 2 * DAY_MS);
      expect(await json(await cleanUp(host))).toMatchObject({ removed: 0, complete: true });
      expect(await statusOf(host, image.raw_url)).toBe(200);
    }));

  test('that was behind at an upload does not make the picture old', () =>
    withHost(async (host) => {
      host.clock.ms -= 400 * DAY_MS;
      const soon = await host.upload(png);
      await note(host);
      const later = await host.upload(png);
      host.clock.ms += 400 * DAY_MS;
      await note(host);
      await expectDoubt(host, 'The server did not run for 400 days');
      expect(await json(await cleanUp(host, '?confirm=true'))).toMatchObject({ removed: 0 });
      const kept = [await statusOf(host, soon.raw_url), await statusOf(host, later.raw_url)];
      expect(kept).toEqual([200, 200]);
    }));

  test('that was behind for a moment, which nobody noted, does not make the picture old', () =>
    withHost(async (host) => {
      host.clock.ms -= 400 * DAY_MS;
      const image = await host.upload(png);
      host.clock.ms += 400 * DAY_MS;
      expect(await json(await cleanUp(host))).toMatchObject({ removed: 0 });
      expect(await statusOf(host, image.raw_url)).toBe(200);
    }));

  test('that jumps ahead while expired pictures are removed ends none that has not expired', () =>
    withHost(async (host) => {
      await host.upload(png, 'expires_in=10m');
      const image = await host.upload(png, 'expires_in=2h');
      await run(host, HOUR_MS / 3);
      const { removeEnded } = host.images;
      host.images.removeEnded = (...given) => {
        host.clock.ms += 5 * DAY_MS;
        return removeEnded.apply(host.images, given);
      };
      await host.service.removeEnded();
      host.clock.ms -= 5 * DAY_MS;
      expect(await statusOf(host, image.raw_url)).toBe(200);
      expect(await host.images.summary()).toMatchObject({ images: 1 });
    }));

  test('that is behind for a moment, which nobody noted, lets the views of this moment count', () =>
    withHost(async (host) => {
      const image = await host.upload(png);
      await run(host, 10 * HOUR_MS);
      await host.upload(png);
      host.clock.ms -= 20 * HOUR_MS;
      expect(await statusOf(host, image.raw_url)).toBe(200);
      host.clock.ms += 20 * HOUR_MS;
      await run(host, 90 * DAY_MS - 5 * HOUR_MS);
      expect(await json(await cleanUp(host))).toMatchObject({ removed: 0 });
    }));

  test('that is behind dates no upload later for the views meanwhile', () =>
    withHost(async (host) => {
      const image = await host.upload(png);
      host.clock.ms -= 5;
      const begun = host.clock.ms;
      for (let views = 0; views < 50; views++) expect(await statusOf(host, image.raw_url)).toBe(200);
      const { id } = await host.upload(png);
      expect((await host.images.get(id))?.createdAt).toBeLessThan(begun + 20);
    }));
});
