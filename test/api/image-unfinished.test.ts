import { beforeAll, describe, expect, test } from 'bun:test';
import { AppError, inEnglish } from '../../src/errors.ts';
import type { ImageEvent } from '../../src/image/service.ts';
import type { ImageStore } from '../../src/image/store.ts';
import { type ImageHost, pathOf } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { quarters } from '../support/images/images.ts';
import { json } from '../support/json.ts';

const hosts = imageHosts();
let png: Uint8Array<ArrayBuffer>;

beforeAll(async () => {
  png = new Uint8Array(await quarters(400, 300).png().toBuffer());
});

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

async function withHost(work: (world: World) => Promise<void>): Promise<void> {
  const events: string[] = [];
  let lose: World['lose'] = () => {};
  const host = await hosts.start({
    change(parts) {
      const store = losing(parts.images);
      lose = store.lose;
      const onEvent = ({ type }: ImageEvent) => void events.push(type);
      return { onEvent, images: store.images };
    },
  });
  try {
    await work({ host, events, lose });
  } finally {
    await host.stop();
  }
}

const listed = async (host: ImageHost) =>
  (await json<{ images: { id: string }[] }>(await host.send('/api/list'))).images.map(({ id }) => id);

test('a change whose answer is lost takes effect at once, and is announced', () =>
  withHost(async ({ host, events, lose }) => {
    const image = await host.upload(png);
    await (await host.send(pathOf(image.raw_url))).arrayBuffer();
    lose('change');
    const headers = { 'x-delete-token': image.delete_token, 'content-type': 'application/json' };
    const body = '{"password":"secret"}';
    expect((await host.send(`/api/image/${image.id}`, { method: 'PATCH', headers, body })).status).toBe(503);
    expect((await host.send(pathOf(image.raw_url))).status).toBe(401);
    await host.service.removeEnded();
    await host.service.removeEnded();
    expect(events).toEqual(['stored', 'changed']);
  }));

describe('an upload that ends in an error', () => {
  test('to a client of another service that wants all or none, is taken back later if need be', () =>
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
});
