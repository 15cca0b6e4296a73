import { beforeAll, describe, expect, test } from 'bun:test';
import { type ImageHost, pathOf, type UploadAnswer } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { animation, photo, screenshot } from '../support/images/images.ts';
import { json } from '../support/json.ts';

const hosts = imageHosts();
let host: ImageHost;
let picture: UploadAnswer;

beforeAll(async () => {
  host = await hosts.start();
  picture = await host.upload(new Uint8Array(await photo(400, 300)), 'filename=quay.jpg');
});

const CHROMIUM = 'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8';
const auto = (image: UploadAnswer, accept: string | null, headers: Record<string, string> = {}) =>
  host.send(`${pathOf(image.url)}?auto`, { headers: { ...(accept !== null && { accept }), ...headers } });
const typeOf = (answer: Response) => answer.headers.get('content-type');

describe('the page link with ?auto', () => {
  test.each([
    ['a browser of today', CHROMIUM, 'image/avif'],
    ['a browser that reads no AVIF', 'image/webp,*/*', 'image/webp'],
    ['a browser that refuses AVIF', 'image/avif;q=0, image/webp', 'image/webp'],
    ['a browser that prefers WebP', 'image/webp, image/avif;q=0.1', 'image/webp'],
    ['a program that names JPEG last', 'image/webp;q=0.2, image/avif;q=0.9, image/jpeg;q=0.1', 'image/avif'],
    ['a program that takes anything', '*/*', 'image/jpeg'],
    ['a program that says nothing', null, 'image/jpeg'],
    ['a navigation of an old browser', 'text/html,application/xhtml+xml,*/*;q=0.8', 'image/jpeg'],
  ])('gives %s the picture in its best format', async (_, accept, type) => {
    const answer = await auto(picture, accept);
    expect([answer.status, typeOf(answer), answer.headers.get('vary')]).toEqual([200, type, 'Accept']);
    const body = new Uint8Array(await answer.arrayBuffer());
    expect(answer.headers.get('content-length')).toBe(String(body.length));
    expect(answer.headers.get('content-disposition')).toBe(
      `inline; filename="quay.${type === 'image/jpeg' ? 'jpg' : type.slice(6)}"`,
    );
    const etag = answer.headers.get('etag') ?? '';
    const known = await auto(picture, accept, { 'if-none-match': etag });
    expect([known.status, known.headers.get('vary'), known.headers.get('etag')]).toEqual([
      304,
      'Accept',
      etag,
    ]);
  });

  test('makes each format once, and its files go with the image', async () => {
    const image = await host.upload(new Uint8Array(await photo(300, 200, 2)));
    const answers = await Promise.all([auto(image, CHROMIUM), auto(image, CHROMIUM), auto(image, '*/*')]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const files = async () => (await host.files()).filter((name) => name.startsWith(image.id)).sort();
    expect(await files()).toEqual([`${image.id}-auto.avif`, `${image.id}-auto.jpg`, `${image.id}.webp`]);
    await host.send(`/api/delete/${image.id}`, { method: 'DELETE' });
    expect(await files()).toEqual([]);
    expect((await auto(image, CHROMIUM)).status).toBe(404);
  });

  test('gives the image as stored if no other format has fewer bytes', async () => {
    const drawing = await host.upload(new Uint8Array(await screenshot(600, 400)));
    const answer = await auto(drawing, CHROMIUM);
    expect([typeOf(answer), (await answer.arrayBuffer()).byteLength]).toEqual(['image/webp', drawing.size]);
  });

  test('leaves a PNG a PNG for those who name nothing better', async () => {
    const drawing = await host.upload(new Uint8Array(await screenshot(600, 400)), 'format=png');
    expect(typeOf(await auto(drawing, '*/*'))).toBe('image/png');
  });

  test('lets animations move', async () => {
    const moving = await host.upload(new Uint8Array(await animation('gif')), 'format=gif');
    expect(typeOf(await auto(moving, CHROMIUM))).toBe('image/gif');
    const webp = await host.upload(new Uint8Array(await animation('gif')));
    expect(typeOf(await auto(webp, '*/*'))).toBe('image/webp');
  });

  test('is the only path that varies', async () => {
    const headers = { accept: CHROMIUM };
    const direct = await host.send(`${pathOf(picture.raw_url)}?auto`, { headers });
    expect([typeOf(direct), direct.headers.get('vary')]).toEqual(['image/webp', null]);
    const page = await host.send(pathOf(picture.url), { headers });
    expect(page.headers.get('content-type')).toStartWith('text/html');
  });

  test('needs the password of a protected image, and no cache keeps it', async () => {
    const image = await host.upload(new Uint8Array(await photo(300, 200, 3)), 'password=tea');
    const locked = await auto(image, CHROMIUM);
    expect([locked.status, locked.headers.get('vary')]).toEqual([401, 'Accept']);
    const open = await auto(image, CHROMIUM, { 'x-image-password': 'tea' });
    expect([open.status, open.headers.get('cache-control')]).toEqual([200, 'private, no-store']);
  });

  test('says that it takes no width', async () => {
    const answer = await host.send(`${pathOf(picture.url)}?auto&w=160`);
    expect(answer.status).toBe(400);
    expect(await json(answer)).toMatchObject({ code: 'invalid_parameter', details: [{ field: 'w' }] });
  });

  test('answers HEAD and ranges like every file', async () => {
    const head = await host.send(`${pathOf(picture.url)}?auto`, {
      method: 'HEAD',
      headers: { accept: CHROMIUM },
    });
    expect([head.status, typeOf(head)]).toEqual([200, 'image/avif']);
    const part = await auto(picture, CHROMIUM, { range: 'bytes=4-7' });
    expect([part.status, await part.text()]).toEqual([206, 'ftyp']);
  });
});
