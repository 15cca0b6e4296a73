import { describe, expect, spyOn, test } from 'bun:test';
import { Value } from '@sinclair/typebox/value';
import { AppError, inEnglish } from '../../src/errors.ts';
import { statsAnswer, uploadAnswer } from '../../src/image/schemas.ts';
import { createRepetitions } from '../../src/image/upload/repetitions.ts';
import type { Album } from '../support/images/albums.ts';
import { MAX_UPLOAD_BYTES, pathOf, type UploadAnswer } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { animation, privatePhoto, quarters } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { shared } from '../support/shared.ts';

const hosts = imageHosts();
const png = new Uint8Array(await quarters().png().toBuffer());
const host = shared(() => hosts.start({ adminToken: 'admin-token' }));

function form(fields: Record<string, string>, file: Uint8Array<ArrayBuffer> = png, name = 'photo.png') {
  const body = new FormData();
  for (const [field, value] of Object.entries(fields)) body.set(field, value);
  body.set('image', new File([file], name));
  return { method: 'POST', body };
}

describe('an upload', () => {
  test('as a form answers 201, the page as Location, and everything about the image', async () => {
    const answer = await host.send('/api/upload', form({}));
    expect(answer.status).toBe(201);
    const image = await json<UploadAnswer>(answer);
    expect([...Value.Errors(uploadAnswer.schema, image)]).toEqual([]);
    expect(image.id).toMatch(/^[0-9A-Za-z]{12}$/);
    expect(image).toMatchObject({
      success: true,
      format: 'webp',
      width: 96,
      height: 64,
      frames: 1,
      filename: 'photo.png',
      protected: false,
      url: `http://img.example/i/${image.id}`,
      raw_url: `http://img.example/i/${image.id}.webp`,
      bbcode: `[img]http://img.example/i/${image.id}.webp[/img]`,
      delete_url: `http://img.example/i/${image.id}/delete?token=${image.delete_token}`,
    });
    const told = ['location', 'cache-control'].map((name) => answer.headers.get(name));
    expect(told).toEqual([image.url, 'no-store']);
    const file = await host.send(pathOf(image.raw_url));
    expect((await file.arrayBuffer()).byteLength).toBe(image.size);
  });

  test.each(['pwd', 'passphrase', 'Passwd', 'pass'])(
    'with its password called %s is not stored without it',
    async (name) => {
      const answer = await host.send('/api/upload', form({ [name]: 'tea' }));
      expect([answer.status, await answer.text()]).toEqual([
        400,
        expect.stringContaining('did you mean password?'),
      ]);
    },
  );

  test('as a raw body takes the same options from the query', async () => {
    const options = {
      format: 'JPG',
      strip_exif: '0',
      max_width: '48',
      max_height: '1000',
      password: '[1,2]',
      filename: 'dir/other "name".png',
    };
    const asForm = await json<UploadAnswer>(await host.send('/api/upload', form(options)));
    const asRaw = await host.upload(png, new URLSearchParams(options).toString());
    const { size } = asForm;
    for (const { raw_url, ...told } of [asForm, asRaw]) {
      expect(told).toMatchObject({
        ...{ format: 'jpeg', width: 48, height: 32, size, frames: 1 },
        ...{ filename: 'other "name".png', protected: true },
      });
      expect(raw_url).toEndWith('.jpg');
      expect((await host.send(`${pathOf(raw_url)}?password=%5B1,2%5D`)).status).toBe(200);
    }
  });

  test('tells what the stored picture has lost, and otherwise nothing', async () => {
    const gif = new Uint8Array(await animation('gif'));
    expect(await host.upload(gif, 'format=webp')).toMatchObject({ warnings: [] });
    expect(await host.upload(gif, 'format=jpeg')).toMatchObject({
      warnings: [{ code: 'frames_dropped', message: expect.stringContaining('3 frames') }],
    });
  });

  test('tells what of its owner was in the file and is not stored', async () => {
    const removed = async (file: Uint8Array, query = '') =>
      (await host.upload(new Uint8Array(file), query)).removed;
    for (const format of ['jpeg', 'png', 'webp', 'avif'] as const) {
      expect(await removed(await privatePhoto(format))).toEqual(['location', 'metadata']);
    }
    const nameless = await quarters()
      .withExif({ IFD0: { Make: 'Camera' } })
      .jpeg()
      .toBuffer();
    expect(await removed(nameless)).toEqual(['metadata']);
    expect(await removed(await privatePhoto('jpeg'), 'strip_exif=false')).toEqual([]);
    expect(await removed(png)).toEqual([]);
  });

  test('of no bytes is called empty where it has a name, and missing where it has none', async () => {
    const refusal = async (name: string) =>
      json<{ error: string }>(await host.send('/api/upload', form({}, new Uint8Array(), name)));
    expect((await refusal('empty.png')).error).toBe('The file is empty: it has 0 bytes.');
    expect((await refusal('')).error).toBe('No image was sent.');
  });

  test('without a file name is named after its id', async () => {
    const image = await host.upload(png);
    expect(image.filename).toBe(`${image.id}.webp`);
  });

  test('leaves no temporary file', async () => {
    expect(await host.temporaryFiles()).toEqual([]);
  });
});

describe('an upload is refused', () => {
  const text = new TextEncoder().encode('this is not a picture, whatever it says');

  test.each([
    ['an empty body', new Uint8Array(0), 400, 'invalid_parameter'],
    ['what is not an image', text, 415, 'not_an_image'],
    ['too many bytes', new Uint8Array(MAX_UPLOAD_BYTES + 1), 413, 'too_large'],
    ['an image that is cut off', png.slice(0, png.length / 2), 422, 'undecodable_image'],
  ] as [string, Uint8Array<ArrayBuffer>, number, string][])('for %s', async (_name, body, status, code) => {
    const before = (await host.files()).sort();
    const answer = await host.send('/api/upload', { method: 'POST', body });
    expect(answer.status).toBe(status);
    expect(await json(answer)).toMatchObject({ success: false, code });
    expect((await host.files()).sort()).toEqual(before);
    expect(await host.temporaryFiles()).toEqual([]);
  });

  test.each(['form', 'raw body'])('for faulty options of a %s, all named at once', async (mode) => {
    const options = {
      format: 'bmp',
      strip_exif: 'maybe',
      max_width: '0',
      max_height: '99999',
      colour: 'red',
    };
    const answer =
      mode === 'form'
        ? await host.send('/api/upload', form(options))
        : await host.send(`/api/upload?${new URLSearchParams(options)}`, { method: 'POST', body: png });
    expect(answer.status).toBe(400);
    const { code, details } = await json<{ code: string; details: { field: string }[] }>(answer);
    expect(code).toBe('invalid_parameter');
    const fields = details.map(({ field }) => field).sort();
    expect(fields).toEqual(['format', 'max_height', 'max_width', 'strip_exif']);
    expect(await host.temporaryFiles()).toEqual([]);
  });
});

describe('an upload that is sent again with its Idempotency-Key', () => {
  const send = async (key: string, name: string, headers = {}, fields = {}) =>
    host.send('/api/upload', { ...form(fields, png, name), headers: { 'idempotency-key': key, ...headers } });
  const idOf = async (sent: Promise<Response>) => (await json<UploadAnswer>(await sent)).id;

  test('is stored once, also if the first is still under way; another picture is another upload', async () => {
    const key = 'a-key-of-this-test';
    const [first, second, other] = [send(key, 'one.png'), send(key, 'one.png'), send(key, 'two.png')];
    const answer = await json<UploadAnswer>(await first);
    expect(await json<UploadAnswer>(await second)).toEqual(answer);
    expect(await json<UploadAnswer>(await send(key, 'one.png'))).toEqual(answer);
    expect(await idOf(other)).not.toBe(answer.id);
    expect(await idOf(send(`${key}!`, 'one.png'))).not.toBe(answer.id);
    const refused = await send('a key with spaces', 'one.png');
    expect(await json(refused)).toMatchObject({
      code: 'invalid_parameter',
      details: [{ field: 'Idempotency-Key' }],
    });
  });

  test('gives its delete token to nobody who has another token, or not that of the album', async () => {
    const key = 'a-key-that-others-have-too';
    const operator = await idOf(send(key, 'one.png', { authorization: 'Bearer admin-token' }));
    expect(await idOf(send(key, 'one.png'))).not.toBe(operator);
    const album = await json<Album>(await host.send('/api/albums', { method: 'POST' }));
    const into = (headers: object) => send(key, 'one.png', headers, { album: album.id });
    expect((await into({ 'x-album-token': album.token })).status).toBe(201);
    expect((await into({})).status).toBe(400);
  });

  test('is stored again, once, if its picture was deleted', async () => {
    const again = () => idOf(send('a-key-of-a-deleted-picture', 'gone.png'));
    const first = await again();
    const admin = { authorization: 'Bearer admin-token' };
    await host.send(`/api/delete/${first}`, { method: 'DELETE', headers: admin });
    const [second, same] = await Promise.all([again(), again()]);
    expect([second === first, same, await again()]).toEqual([false, second, second]);
    expect((await host.send(`/i/${second}`)).status).toBe(200);
  });

  test('is tried again for a client that gets all pictures or none, and got none', async () => {
    const busy = new AppError('busy', inEnglish('Too many pictures are being converted.'));
    const convert = spyOn(host.codec, 'convert').mockRejectedValueOnce(busy);
    const body = new FormData();
    for (const name of ['1.png', '2.png']) body.append('list', new File([png], name));
    const headers = { 'idempotency-key': 'a-key-of-this-test' };
    const again = async () => json(await host.send('/picgo/upload', { method: 'POST', body, headers }));
    const before = (await host.files()).length;
    expect(await again()).toMatchObject({ success: false });
    expect((await host.files()).length).toBe(before);
    expect(await again()).toMatchObject({ success: true });
    convert.mockRestore();
  });

  /** Repeats one upload at the minute, of which that picture was deleted. */
  function repeated(state: { minute: number; deleted: string }) {
    const received = { files: [], fields: {}, dispose: async () => {} };
    const { once } = createRepetitions<string>(
      () => state.minute * 60_000,
      async (stored) => stored !== state.deleted,
    );
    const headers = { 'idempotency-key': 'k'.repeat(16) };
    return (store: () => Promise<string>, { signal } = new AbortController()) =>
      once(new Request('http://img.example/', { headers, signal }), '', received, store);
  }

  test('is answered for 10 minutes from when it was stored again', async () => {
    const state = { minute: 0, deleted: 'first' };
    const send = repeated(state);
    expect(await send(async () => 'first')).toBe('first');
    state.minute = 9;
    const both = ['second', 'another'].map((name) => send(async () => name));
    expect(await Promise.all(both)).toEqual(['second', 'second']);
    state.minute = 18;
    expect(await send(async () => 'third')).toBe('second');
    state.minute = 20;
    expect(await send(async () => 'third')).toBe('third');
  });

  test('is stored by itself if the first fails in the midst, and waits no longer than its client', async () => {
    const send = repeated({ minute: 0, deleted: '' });
    const leaving = new AbortController();
    const midst = Promise.withResolvers<string>();
    const first = send(() => midst.promise);
    const second = send(async () => 'stored');
    const third = send(async () => 'stored for nobody', leaving);
    leaving.abort(new Error('the third has left'));
    await expect(third).rejects.toThrow('the third has left');
    midst.reject(new Error('the client has left'));
    await expect(first).rejects.toThrow('the client has left');
    expect(await second).toBe('stored');
  });
});

test('a store passes over an id that is taken', async () => {
  const ids = [1, 1, 2].map((byte) => new Uint8Array(12).fill(byte));
  const twins = await hosts.start({
    change: ({ random }) => ({
      random: (length) => (length === 12 && ids.length > 0 ? (ids.shift() ?? random(12)) : random(length)),
    }),
  });
  expect((await twins.upload(png)).id).toBe('1'.repeat(12));
  expect((await twins.upload(png)).id).toBe('2'.repeat(12));
});

test('the statistics count images, protected ones, bytes and formats, and tell the limits', async () => {
  const fresh = await hosts.start();
  const one = await fresh.upload(png);
  const two = await fresh.upload(png, 'format=png&password=x');
  const stats = await json(await fresh.send('/api/stats'));
  expect([...Value.Errors(statsAnswer.schema, stats)]).toEqual([]);
  expect(stats).toMatchObject({
    images: 2,
    protected: 1,
    bytes: one.size + two.size,
    formats: { webp: 1, png: 1 },
    max_upload_bytes: MAX_UPLOAD_BYTES,
    max_pixels: 100_000_000,
    retention_days: 90,
  });
});
