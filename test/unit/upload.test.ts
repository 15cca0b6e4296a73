import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import {
  type Received,
  type ReceivedFile,
  receiveUpload,
  type UploadLimits,
} from '../../src/image/upload/upload.ts';
import { readableBytes } from '../../src/lib/format.ts';
import { inPieces, posted } from '../support/clients/pieces.ts';
import { sharedFolder } from '../support/shared.ts';

const BOUNDARY = 'XbY';
/** Holds what looks like the boundary, whole and in part. */
const image = Buffer.concat([
  randomBytes(300),
  Buffer.from('\r\n--XbX\r\r\n--Xb\r\n--'),
  randomBytes(20_000),
]);

const folder = await sharedFolder();

function part(disposition: string, content: string | Buffer): Buffer {
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(content), Buffer.from('\r\n')]);
}
const file = (disposition = '; filename="a.png"') => part(`name="image"${disposition}`, image);
const form = (...parts: Buffer[]) => Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);

const streamed = (body: ReadableStream<Uint8Array>, headers: Record<string, string> = {}) =>
  posted(body, { 'content-type': `multipart/form-data; boundary=${BOUNDARY}`, ...headers });
const request = (body: Buffer, headers: Record<string, string> = {}, pieceBytes = 4096) =>
  streamed(inPieces(body, pieceBytes), headers);

const receive = (from: Request, limits: Partial<UploadLimits> = {}) =>
  receiveUpload(from, { maxBytes: 1_000_000, folder, ...limits });

function onlyOf({ files: [file, ...others] }: Received): ReceivedFile {
  if (file === undefined || others.length > 0) throw new Error('not one file');
  return file;
}

async function expectRefused(attempt: Promise<unknown>, expected: Record<string, unknown>): Promise<void> {
  await expect(attempt).rejects.toMatchObject(expected);
  expect(await readdir(folder)).toEqual([]);
}
const aboutImage = { code: 'invalid_parameter', details: [expect.objectContaining({ field: 'image' })] };

describe('a form', () => {
  for (const pieceBytes of [1, 3, 64, 1000, 65_536]) {
    test(`that comes in pieces of ${pieceBytes} bytes is put together`, async () => {
      const body = form(part('name="format"', 'png'), file(), part('name="password"', '[1,2]'));
      const upload = await receive(request(body, {}, pieceBytes));
      expect(await readFile(onlyOf(upload).path)).toEqual(image);
      expect(onlyOf(upload)).toMatchObject({ size: image.length, filename: 'a.png' });
      expect({ ...upload.fields }).toEqual({ format: 'png', password: '[1,2]' });
      await upload.dispose();
      await upload.dispose();
      expect(await readdir(folder)).toEqual([]);
    });
  }

  const names: [string, string, string | null][] = [
    ['none', '', null],
    ['an empty one', '; filename=""', null],
    ['raw UTF-8', '; filename="日本.png"', '日本.png'],
    ['RFC 5987', "; filename*=UTF-8''na%C3%AFve%20%F0%9F%98%80.jpg", 'naïve 😀.jpg'],
    ['a path', '; filename="C:\\fakepath\\cat.png"', 'cat.png'],
    ['an escaped quote', '; filename="a\\"b.png"', 'a"b.png'],
    ['a name as .NET and PowerShell encode it', '; filename="=?utf-8?B?dMO8LnBuZw==?="', 'tü.png'],
    ['a name whose code has a slash', '; filename="=?utf-8?B?5Li/LnBuZw==?="', '丿.png'],
    ['a path that they encode', '; filename="=?utf-8?B?Li4vLi4vZXZpbC5wbmc=?="', 'evil.png'],
    ['a path of Unix', '; filename="shots/cat.png"', 'cat.png'],
    [
      'a name that they encode twice',
      `; filename="=?utf-8?B?dMO8LnBuZw==?="; filename*=utf-8''t%C3%BC.png`,
      'tü.png',
    ],
    ["a browser's escaped quote", '; filename="a%22b.png"', 'a"b.png'],
    ["a browser's escaped line end", '; filename="a%0D%0Ab.png"', 'ab.png'],
  ];
  for (const [name, disposition, filename] of names) {
    test(`may name its file: ${name}`, async () => {
      const upload = await receive(request(form(file(disposition))));
      expect(onlyOf(upload)).toMatchObject({ size: image.length, filename });
      await upload.dispose();
    });
  }

  test('may have a preamble, an epilogue and other files, which are ignored', async () => {
    const other = part('name="other"; filename="x.bin"', randomBytes(50_000));
    const body = Buffer.concat([Buffer.from('hello\r\n'), form(other, file()), Buffer.alloc(9000, 'x')]);
    const upload = await receive(request(body));
    expect(onlyOf(upload).size).toBe(image.length);
    await upload.dispose();
  });

  test('may have several images, empty ones too, each of which becomes a file', async () => {
    const other = part('name="image"; filename="b.png"', 'second');
    const none = part('name="image"; filename="c.png"', '');
    const upload = await receive(request(form(file(), other, part('name="format"', 'png'), none)));
    const contents = await Promise.all(upload.files.map(({ path }) => readFile(path)));
    expect(contents).toEqual([image, Buffer.from('second'), Buffer.alloc(0)]);
    expect(upload.files.map(({ filename, size }) => [filename, size])).toEqual([
      ['a.png', image.length],
      ['b.png', 6],
      ['c.png', 0],
    ]);
    expect(new Set(upload.files.map(({ hash }) => hash)).size).toBe(3);
    await upload.dispose();
    expect(await readdir(folder)).toEqual([]);
  });

  test('may bring images that are together as large as one may be, and no larger', async () => {
    const two = form(file(), file('; filename="b.png"'));
    const upload = await receive(request(two), { maxBytes: 2 * image.length });
    expect(upload.files).toHaveLength(2);
    await upload.dispose();
    await expectRefused(receive(request(two), { maxBytes: 2 * image.length - 1 }), { code: 'too_large' });
  });

  test('may not reach the prototype of its fields', async () => {
    const upload = await receive(request(form(part('name="__proto__"', 'x'), file())));
    expect(Object.hasOwn(upload.fields, '__proto__')).toBe(true);
    await upload.dispose();
  });

  const broken: [string, Buffer, Record<string, unknown>][] = [
    ['without the field image', form(part('name="picture"; filename="a.png"', image)), aboutImage],
    ['with 21 images', form(...Array(21).fill(file())), aboutImage],
    ['with an empty image', form(part('name="image"; filename=""', '')), aboutImage],
    ['that is cut in the image', form(file()).subarray(0, 9000), { code: 'invalid_body' }],
    ['that is cut in its last boundary', form(file()).subarray(0, -4), { code: 'invalid_body' }],
    ['that is empty', Buffer.alloc(0), { code: 'invalid_body' }],
    [
      'with too many fields',
      form(...Array(21).fill(part('name="a"', 'b')), file()),
      { code: 'invalid_body' },
    ],
    [
      'with a long field',
      form(part('name="password"', 'x'.repeat(8193)), file()),
      { code: 'invalid_parameter', details: [expect.objectContaining({ field: 'password' })] },
    ],
  ];
  for (const [name, body, expected] of broken) {
    test(`${name} is refused, and leaves no file`, () => expectRefused(receive(request(body)), expected));
  }

  for (const type of ['multipart/form-data', 'multipart/form-data; boundary=other']) {
    test(`of type "${type}" is broken`, () =>
      expectRefused(receive(request(form(file()), { 'content-type': type })), { code: 'invalid_body' }));
  }
});

describe('a raw body', () => {
  for (const type of [
    'image/png',
    'application/x-www-form-urlencoded',
    'application/json',
    'multipart/mixed',
  ]) {
    test(`of type ${type} is the image`, async () => {
      const upload = await receive(request(image, { 'content-type': type }));
      expect(await readFile(onlyOf(upload).path)).toEqual(image);
      expect(upload).toMatchObject({ files: [{ size: image.length, filename: null }], fields: {} });
      await upload.dispose();
    });
  }

  test('that is empty is refused', async () => {
    await expectRefused(receive(request(Buffer.alloc(0), { 'content-type': 'image/png' })), aboutImage);
    await expectRefused(receive(new Request('http://localhost/', { method: 'POST' })), aboutImage);
  });

  test('goes to a file that only this user can read, in a folder that is made', async () => {
    const inner = join(folder, 'made');
    const upload = await receive(request(image, { 'content-type': 'image/png' }), { folder: inner });
    expect((await stat(inner)).mode & 0o777).toBe(0o700);
    expect((await stat(onlyOf(upload).path)).mode & 0o777).toBe(0o600);
    await rm(inner, { recursive: true });
  });
});

describe('limits', () => {
  test('the largest size is taken, one byte more is not', async () => {
    for (const headers of [{ 'content-type': 'image/png' }, {}] as Record<string, string>[]) {
      const body = headers['content-type'] ? image : form(file());
      const upload = await receive(request(body, headers), { maxBytes: image.length });
      expect(onlyOf(upload).size).toBe(image.length);
      await upload.dispose();
      const attempt = receive(request(body, headers), { maxBytes: image.length - 1 });
      await expectRefused(attempt, {
        code: 'too_large',
        message: expect.stringContaining(readableBytes(image.length - 1)),
      });
    }
  });

  test.each([['image/png'], ['multipart/form-data; boundary=xx']])(
    'a Content-Length of %s above the limit is told the limit of the picture before anything is read',
    async (type) => {
      let reads = 0;
      const body = new ReadableStream<Uint8Array>({ pull: () => void reads++ }, { highWaterMark: 0 });
      const headers = { 'content-type': type, 'content-length': '40000000' };
      const message = 'The upload is larger than the limit of 32 MiB.';
      const attempt = receive(streamed(body, headers), { maxBytes: 32 * 2 ** 20 });
      await expectRefused(attempt, { code: 'too_large', message });
      expect(reads).toBe(0);
    },
  );

  test.each([['image/png'], ['multipart/form-data; boundary=xx']])(
    'reading stops when an endless body of type %s passes the limit',
    async (type) => {
      const cancelled = Promise.withResolvers<void>();
      const body = new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
        cancel: () => cancelled.resolve(),
      });
      await expectRefused(receive(streamed(body, { 'content-type': type })), { code: 'too_large' });
      await cancelled.promise;
    },
  );

  test.each([
    ['stops arriving', Infinity, { idleMs: 20 }],
    ['drips', 5, { totalMs: 40 }],
  ])('a body that %s is ended', async (_what, pauseMs, limits) => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new Uint8Array(10)),
      async pull(controller) {
        if (pauseMs === Infinity) return;
        await Bun.sleep(pauseMs);
        controller.enqueue(new Uint8Array(1));
      },
    });
    const attempt = receive(streamed(body, { 'content-type': 'image/png' }), limits);
    await expectRefused(attempt, { code: 'invalid_body', message: expect.stringContaining('slowly') });
  });

  test('a body shorter than its Content-Length is refused', async () => {
    const headers = { 'content-type': 'image/png', 'content-length': '30000' };
    await expectRefused(receive(request(image, headers)), { code: 'invalid_body' });
  });

  test('an abort ends the reading with its reason', async () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new Uint8Array(10)),
    });
    const stop = new AbortController();
    const attempt = receive(streamed(body), { signal: stop.signal });
    stop.abort(new Error('stopping'));
    await expect(attempt).rejects.toThrow('stopping');
    expect(await readdir(folder)).toEqual([]);
  });
});

test('a folder that takes no file makes uploads unavailable', async () => {
  const message = 'The image files cannot be read or written.';
  const attempt = receive(request(form(file())), { folder: import.meta.path });
  await expectRefused(attempt, { code: 'unavailable', message, cause: { code: 'ENOTDIR' } });
});

test('a client that hangs up in mid-body leaves no file', async () => {
  const outcome = Promise.withResolvers<unknown>();
  const begun = Promise.withResolvers<void>();
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(incoming) {
      const attempt = receive(incoming);
      begun.resolve();
      outcome.resolve(await attempt.catch((error: unknown) => error));
      return new Response();
    },
  });
  const socket = connect(server.port ?? 0, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\nContent-Length: 500000\r\n\r\n');
  socket.write(Buffer.alloc(100_000));
  await begun.promise;
  socket.destroy();
  expect(await outcome.promise).toMatchObject({ code: 'invalid_body' });
  expect(await readdir(folder)).toEqual([]);
  await server.stop(true);
});
