import { describe, expect, test } from 'bun:test';
import { AppError, inEnglish } from '../../src/errors.ts';
import type { ImageRecord } from '../../src/image/image.ts';
import { createReviews, type Reviews } from '../../src/image/review/reviews.ts';
import type { ImageEvent, ImageServiceOptions } from '../../src/image/service.ts';
import type { ImageStore } from '../../src/image/store.ts';
import { DAY_MS, type ImageHost, pathOf } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { quarters } from '../support/images/images.ts';
import { asJson, json } from '../support/json.ts';

const hosts = imageHosts();
const png = new Uint8Array(await quarters(400, 300).png().toBuffer());

const away = () => new AppError('unavailable', inEnglish('The store does not answer.'));

/** The store whose next call of a method is done, but its answer lost. */
function losing(images: ImageStore): { images: ImageStore; lose(...methods: (keyof ImageStore)[]): void } {
  const lost = new Set<keyof ImageStore>();
  const wrapped = Object.entries(images).map(([name, method]) => [
    name,
    (...args: unknown[]) => {
      const answer = (method as (...args: unknown[]) => unknown)(...args);
      if (!lost.delete(name as keyof ImageStore)) return answer;
      return Promise.resolve(answer).then(() => Promise.reject(away()));
    },
  ]);
  return {
    images: Object.fromEntries(wrapped) as ImageStore,
    lose: (...methods) => {
      for (const method of methods) lost.add(method);
    },
  };
}

interface World {
  host: ImageHost;
  events: string[];
  lose: ReturnType<typeof losing>['lose'];
}

async function withHost(
  work: (world: World) => Promise<void>,
  change: (parts: ImageServiceOptions) => Partial<ImageServiceOptions> = () => ({}),
): Promise<void> {
  const events: string[] = [];
  let lose: World['lose'] = () => {};
  await hosts.use((host) => work({ host, events, lose }), {
    change(parts) {
      const store = losing(parts.images);
      lose = store.lose;
      const onEvent = ({ type }: ImageEvent) => void events.push(type);
      return { onEvent, images: store.images, ...change({ ...parts, images: store.images }) };
    },
  });
}

const listed = async (host: ImageHost) =>
  (await json<{ images: { id: string }[] }>(await host.send('/api/list'))).images.map(({ id }) => id);
const noted = async (host: ImageHost) =>
  (await host.state.keys()).filter((key) => key.startsWith('image-unfinished:')).length;

/** Reviews over some stores of their own, and how a picture is held there. */
async function reviewsOf(host: ImageHost, stores: Partial<Pick<ImageHost, 'state' | 'images'>>) {
  const clock = { ...host.clock, now: host.clock.now };
  const reviews = createReviews({ ...host, ...stores, clock, onStored() {}, discard: host.service.discard });
  const record = await host.images.get((await host.upload(png)).id);
  if (!record) throw new Error('no record');
  const path = `${host.folder}/held`;
  const file = new Uint8Array(record.size);
  const hold = (id = 'reviewreview') =>
    Bun.write(path, file).then(() => reviews.hold({ ...record, id }, path));
  return { reviews, record, hold };
}

/** Expects that nothing is left of what was removed, and that this was told once. */
async function expectGone({ host, events }: World, link: string, status = 404): Promise<void> {
  expect((await host.send(pathOf(link))).status).toBe(status);
  await host.service.removeEnded();
  await host.service.removeEnded();
  expect(events).toEqual(['stored', 'removed']);
  expect([await host.files(), await noted(host)]).toEqual([[], 0]);
}

describe('a removal whose answer is lost', () => {
  test('is finished by another copy if the process dies', () =>
    withHost(async (world) => {
      const { host, events } = world;
      const image = await host.upload(png);
      const record = await host.images.get(image.id);
      const business = { kind: 'deletion', at: host.clock.ms, images: [record] };
      await host.state.set('image-unfinished:of-the-dead', JSON.stringify(business));
      await host.service.removeEnded();
      expect(events).toEqual(['stored']);
      host.clock.ms += 11 * 60_000;
      await host.service.removeEnded();
      await expectGone(world, image.raw_url);
    }));

  test('stays noted by the one who took it over, whatever the one does who began it and was alive after all', () =>
    withHost(async ({ host, lose }) => {
      const { id } = await host.upload(png);
      const business = { kind: 'deletion', at: host.clock.ms, images: [await host.images.get(id)] };
      await host.state.set('image-unfinished:of-the-slow', JSON.stringify(business));
      host.clock.ms += 11 * 60_000;
      lose('remove');
      await host.service.removeEnded();
      await host.state.remove('image-unfinished:of-the-slow');
      expect(await noted(host)).toBe(1);
      await host.service.removeEnded();
      expect(await noted(host)).toBe(0);
    }));

  test('is told once if a full store cannot note who has taken it over', () => {
    let isFull = false;
    return withHost(
      async (world) => {
        const { host } = world;
        const { id, raw_url } = await host.upload(png);
        const business = { kind: 'deletion', at: host.clock.ms, images: [await host.images.get(id)] };
        await host.state.set('image-unfinished:of-the-dead', JSON.stringify(business));
        isFull = true;
        for (let minute = 11; minute < 15; minute++) {
          host.clock.ms = business.at + minute * 60_000;
          await host.service.removeEnded();
        }
        await expectGone(world, raw_url);
      },
      ({ state }) => ({
        state: {
          ...state,
          set: (key, value) =>
            isFull
              ? Promise.reject(new AppError('storage_full', inEnglish('The disk is full.')))
              : state.set(key, value),
        },
      }),
    );
  });

  test('is told if the store carries it out while it is being finished', () => {
    let isAway = true;
    return withHost(
      async (world) => {
        const { host } = world;
        const { id, raw_url, delete_token } = await host.upload(png);
        const headers = { 'x-delete-token': delete_token };
        expect((await host.send(`/api/delete/${id}`, { method: 'DELETE', headers })).status).toBe(503);
        isAway = false;
        await host.service.removeEnded();
        await expectGone(world, raw_url);
      },
      ({ images }) => ({
        images: {
          ...images,
          async remove(id) {
            if (isAway) throw away();
            await images.remove(id);
            return images.remove(id);
          },
        },
      }),
    );
  });

  test('is noted with the next try if the store could not, so that another copy can finish it', () => {
    const isAway = { records: true, notes: true };
    return withHost(
      async ({ host }) => {
        const { id, delete_token } = await host.upload(png);
        const headers = { 'x-delete-token': delete_token };
        expect((await host.send(`/api/delete/${id}`, { method: 'DELETE', headers })).status).toBe(503);
        expect(await noted(host)).toBe(0);
        isAway.notes = false;
        await host.service.removeEnded();
        expect(await noted(host)).toBe(1);
        isAway.records = false;
        await host.service.removeEnded();
        expect(await noted(host)).toBe(0);
      },
      ({ images, state }) => ({
        images: { ...images, remove: (id) => (isAway.records ? Promise.reject(away()) : images.remove(id)) },
        state: {
          ...state,
          set: (key, value) =>
            isAway.notes && key.startsWith('image-unfinished:')
              ? Promise.reject(away())
              : state.set(key, value),
        },
      }),
    );
  });

  test('by the cleanup is finished', () =>
    withHost(async (world) => {
      const { host, lose } = world;
      const image = await host.upload(png);
      await host.serve(91 * DAY_MS);
      lose('removeIdle');
      expect((await host.send('/api/cleanup', { method: 'POST' })).status).toBe(503);
      await expectGone(world, image.raw_url);
    }));

  test('by its expiry is finished', () =>
    withHost(async (world) => {
      const { host, lose } = world;
      const image = await host.upload(png, 'expires_in=10m');
      host.clock.ms += 11 * 60_000;
      lose('removeEnded');
      await host.service.removeEnded().catch(() => {});
      await expectGone(world, image.raw_url, 410);
    }));

  test('by its last view is finished', () =>
    withHost(async (world) => {
      const { host, lose } = world;
      const image = await host.upload(png, 'max_views=1');
      lose('endView');
      await (await host.send(pathOf(image.raw_url))).arrayBuffer();
      await expectGone(world, image.raw_url, 410);
    }));
});

test('a change whose answer is lost takes effect at once, and is announced', () =>
  withHost(async ({ host, events, lose }) => {
    const image = await host.upload(png);
    await (await host.send(pathOf(image.raw_url))).arrayBuffer();
    lose('change');
    const change = asJson('PATCH', { password: 'secret' }, { 'x-delete-token': image.delete_token });
    expect((await host.send(`/api/image/${image.id}`, change)).status).toBe(503);
    expect((await host.send(pathOf(image.raw_url))).status).toBe(401);
    await host.service.removeEnded();
    await host.service.removeEnded();
    expect(events).toEqual(['stored', 'changed']);
  }));

test('an upload that ends in an error to a client of another service that wants all or none, is taken back later if need be', () =>
  withHost(async ({ host, lose }) => {
    const body = new FormData();
    body.append('file', new File([png], 'good.png'));
    body.append('file', new File(['no picture'], 'bad.png'));
    lose('remove');
    const answer = await host.send('/picgo/upload', { method: 'POST', body });
    expect(await json(answer)).toMatchObject({ success: false });
    await host.service.removeEnded();
    expect([await listed(host), await host.files()]).toEqual([[], []]);
  }));

test('an approval that was interrupted and is followed by a refusal leaves nothing public', () =>
  withHost(async ({ host, events }) => {
    let fails = false;
    const state = {
      ...host.state,
      setFenced: (...args: Parameters<typeof host.state.setFenced>) =>
        fails ? Promise.reject(away()) : host.state.setFenced(...args),
    };
    const { reviews, record, hold } = await reviewsOf(host, { state });
    await hold();
    fails = true;
    await expect(reviews.decide('reviewreview', 'allow')).rejects.toMatchObject({ code: 'unavailable' });
    fails = false;
    expect((await host.send('/i/reviewreview.webp')).status).toBe(200);
    await reviews.decide('reviewreview', 'block');
    expect((await host.send('/i/reviewreview.webp')).status).toBe(404);
    expect([await reviews.list(), await listed(host)]).toEqual([[], [record.id]]);
    expect(events).toEqual(['stored', 'removed']);
  }));

test('an approval that the store carries out late, after a refusal, leaves nothing public', () =>
  withHost(async ({ host, events }) => {
    let late: ImageRecord | undefined;
    const images = {
      ...host.images,
      insert(record: ImageRecord) {
        late = record;
        return Promise.reject(away());
      },
    };
    const { reviews, hold } = await reviewsOf(host, { images });
    await hold();
    await expect(reviews.decide('reviewreview', 'allow')).rejects.toMatchObject({ code: 'unavailable' });
    await reviews.decide('reviewreview', 'block');
    if (late) await host.images.insert(late);
    await host.service.removeEnded();
    expect((await host.send('/i/reviewreview.webp')).status).toBe(404);
    expect(await host.files()).toHaveLength(1);
    expect(events).toEqual(['stored', 'removed']);
  }));

test('a change of what is in review that the store carries out late loses no later picture', () =>
  withHost(async ({ host }) => {
    let late: (() => Promise<boolean>) | undefined;
    const state: typeof host.state = {
      ...host.state,
      setFenced(...args) {
        if (late) return host.state.setFenced(...args);
        late = () => host.state.setFenced(...args);
        return Promise.reject(away());
      },
    };
    const { reviews, hold } = await reviewsOf(host, { state });
    await expect(hold('unanswered00')).rejects.toMatchObject({ code: 'unavailable' });
    await hold('acknowledged');
    expect(await late?.()).toBe(false);
    expect((await reviews.list()).map(({ id }) => id)).toEqual(['acknowledged']);
  }));

test.each([
  ['withdrawn', (reviews: Reviews) => reviews.withdraw('reviewreview')],
  ['blocked', (reviews: Reviews) => reviews.decide('reviewreview', 'block')],
] as const)('a picture in review is %s in a full store as well', (_, remove) =>
  withHost(async ({ host }) => {
    const full = { setFenced: host.state.setFenced };
    const state: typeof host.state = { ...host.state, setFenced: (...args) => full.setFenced(...args) };
    const { reviews, hold } = await reviewsOf(host, { state });
    await hold();
    full.setFenced = () => Promise.reject(new AppError('storage_full', inEnglish('The disk is full.')));
    await remove(reviews);
    full.setFenced = host.state.setFenced;
    await expect(reviews.decide('reviewreview', 'allow')).rejects.toMatchObject({ code: 'not_found' });
    expect((await host.send('/i/reviewreview.webp')).status).toBe(404);
    await reviews.decide('reviewreview', 'block');
    expect([await reviews.list(), await host.files()]).toMatchObject([[], { length: 1 }]);
  }),
);

test('a full store keeps nothing from being deleted', () =>
  withHost(
    async ({ host, events }) => {
      const { id, delete_token: token } = await host.upload(png);
      const headers = { 'x-delete-token': token };
      expect((await host.send(`/api/delete/${id}`, { method: 'DELETE', headers })).status).toBe(200);
      expect(events).toEqual(['stored', 'removed']);
    },
    ({ state }) => ({
      state: {
        ...state,
        set: () => Promise.reject(new AppError('storage_full', inEnglish('The disk is full.'))),
      },
    }),
  ));
