import { expect, test } from 'bun:test';
import { DAY_MS, pathOf } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { quarters } from '../support/images/images.ts';
import { shared } from '../support/shared.ts';

const hosts = imageHosts();
let reads = 0;

const host = shared(() =>
  hosts.start({
    change: ({ blobs }) => ({
      blobs: {
        ...blobs,
        get: (key, range) => {
          reads++;
          return blobs.get(key, range);
        },
      },
    }),
  }),
);

async function uploaded(query = ''): Promise<{ path: string; id: string }> {
  const image = await host.upload(new Uint8Array(await quarters(90, 60).png().toBuffer()), query);
  reads = 0;
  return { path: pathOf(image.raw_url), id: image.id };
}

async function get(path: string, headers: Record<string, string> = {}, method = 'GET') {
  const answer = await host.send(path, { method, headers });
  const { 'x-request-id': id, ...others } = Object.fromEntries(answer.headers);
  expect(id).toBeDefined();
  return { status: answer.status, headers: others, body: Buffer.from(await answer.arrayBuffer()) };
}

test('a file that is asked for again and again is answered from memory, in the same words', async () => {
  const { path } = await uploaded('filename=гавань.png');
  const first = await get(path);
  const again = [await get(path), await get(path), await get(path)];
  expect(reads).toBe(2);
  for (const answer of again) expect(answer).toEqual(first);
  expect(first.headers['content-length']).toBe(String(first.body.length));
});

test('requests for anything but the plain file are answered as before once the file is in memory', async () => {
  const { path } = await uploaded();
  const whole = (await Promise.all([get(path), get(path)]))[0];
  await get(path);
  reads = 0;
  const etag = String(whole?.headers.etag);
  const part = await get(path, { range: 'bytes=10-19' });
  expect(part.status).toBe(206);
  expect(part.body.equals(whole?.body.subarray(10, 20) ?? Buffer.alloc(0))).toBe(true);
  expect((await get(path, { range: 'bytes=999999-' })).status).toBe(416);
  expect((await get(path, { 'if-none-match': `"other", W/${etag}` })).status).toBe(304);
  expect((await get(`${path}?download=1`)).headers['content-disposition']).toStartWith('attachment');
  expect((await get(path, {}, 'HEAD')).body.length).toBe(0);
  expect((await get(path.replace('.webp', '.png'))).status).toBe(404);
  expect((await get(`${path}x`)).status).toBe(404);
  expect(reads).toBe(0);
});

test('304 says the same, whether the record is at hand or not', async () => {
  const { path } = await uploaded();
  const etag = String((await get(path)).headers.etag);
  const atHand = await get(path, { 'if-none-match': etag });
  host.clock.ms += DAY_MS;
  const readAnew = await get(path, { 'if-none-match': etag });
  expect(atHand.status).toBe(304);
  expect(readAnew).toEqual(atHand);
});

test('an access from memory counts like any other', async () => {
  const { path, id } = await uploaded();
  for (let count = 0; count < 3; count++) await get(path);
  await host.serve(DAY_MS);
  await get(path);
  await get(path);
  await host.service.cleanup(1000, true);
  expect((await host.images.get(id))?.lastAccess).toBe(host.clock.ms);
});
