import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { AppError, inEnglish } from '../../src/errors.ts';
import { receiveUpload, type UploadShape } from '../../src/image/upload/upload.ts';
import { inPieces, posted } from '../support/clients/pieces.ts';
import { sharedFolder } from '../support/shared.ts';

const MAX_BYTES = 100_000;
const picture = Buffer.concat([Buffer.from('\x89PNG\r\n'), randomBytes(3000)]);
const base64 = picture.toString('base64');

const folder = await sharedFolder();

/** What arrives of a body that is sent in pieces of that many bytes. */
async function take(
  shape: UploadShape,
  body: Buffer,
  contentType: string,
  pieceBytes = 1000,
  before?: (fields: object) => Promise<void>,
) {
  const request = posted(inPieces(body, pieceBytes), { 'content-type': contentType });
  const upload = await receiveUpload(request, { maxBytes: MAX_BYTES, folder }, shape, before);
  const files = await Promise.all(upload.files.map(({ path }) => readFile(path)));
  const names = upload.files.map(({ filename }) => filename);
  await upload.dispose();
  expect(await readdir(folder)).toEqual([]);
  return { files, names, fields: { ...upload.fields } };
}

async function refusal(attempt: Promise<unknown>): Promise<AppError> {
  const error = await attempt.then(
    () => new Error('it was taken'),
    (reason: unknown) => reason,
  );
  expect(await readdir(folder)).toEqual([]);
  if (error instanceof AppError) return error;
  throw error;
}

function form(...parts: [disposition: string, content: string | Buffer][]): Buffer {
  const written = parts.flatMap(([disposition, content]) => [
    Buffer.from(`--b\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...written, Buffer.from('--b--\r\n')]);
}
const FORM = 'multipart/form-data; boundary=b';
const ENCODED = 'application/x-www-form-urlencoded';

describe('a form of several pictures', () => {
  const shape: UploadShape = { names: ['list', 'list[]'], most: 3 };
  const part = (name: string, filename: string): [string, Buffer] => [
    `name="${name}"; filename="${filename}"`,
    Buffer.concat([picture, Buffer.from(filename)]),
  ];

  test('keeps their order and names', async () => {
    const body = form(
      part('list', 'a.png'),
      ['name="x"', 'y'],
      part('list[]', 'b.png'),
      part('list', 'c.png'),
    );
    const { files, names, fields } = await take(shape, body, FORM);
    expect(names).toEqual(['a.png', 'b.png', 'c.png']);
    expect(files.map((file) => file.subarray(picture.length).toString())).toEqual([
      'a.png',
      'b.png',
      'c.png',
    ]);
    expect(fields).toEqual({ x: 'y' });
  });

  test('with one file too many is refused, and stores none', async () => {
    const body = form(...['a', 'b', 'c', 'd'].map((name) => part('list', name)));
    const { code, message } = await refusal(take(shape, body, FORM));
    expect([code, message]).toEqual([
      'invalid_parameter',
      'A form can have at most 3 files in the field list.',
    ]);
  });
});

test('fields before the picture can be checked before the picture is read', async () => {
  const seen: unknown[] = [];
  const judge = async (fields: { key?: string }) => {
    seen.push({ ...fields });
    if (fields.key !== 'right') throw new AppError('unauthorized', inEnglish('no'));
  };
  const key: [string, string] = ['name="key"', 'right'];
  const file: [string, Buffer] = ['name="file"; filename="a.png"', picture];
  const send = (body: Buffer) => take({ names: ['file'] }, body, FORM, 1000, judge);
  expect((await send(form(key, file))).files).toEqual([picture]);
  expect((await refusal(send(form(file, key)))).code).toBe('unauthorized');
  expect(seen).toEqual([{ key: 'right' }, {}]);
});

test('a form may have no picture if the client allows that', async () => {
  const body = form(['name="reqtype"', 'delete']);
  expect(await take({ names: ['file'], optional: true }, body, FORM)).toEqual({
    files: [],
    names: [],
    fields: { reqtype: 'delete' },
  });
});

describe('a picture as text', () => {
  const shape: UploadShape = { names: ['image'], base64: true };
  const spellings: [string, string][] = [
    ['Base64', base64],
    ['Base64 without padding', base64.replace(/=+$/, '')],
    ['Base64 for addresses', picture.toString('base64url')],
    ['Base64 in lines', base64.replace(/.{76}/g, '$&\r\n')],
    ['a data: URL', `data:image/png;base64,${base64}`],
    ['a data: URL with a parameter', `data:image/png;name=a.png;base64,${base64}`],
  ];
  for (const [name, text] of spellings) {
    for (const pieceBytes of [1, 7, 1000, 65_536]) {
      test(`is taken as ${name}, in pieces of ${pieceBytes}`, async () => {
        const asForm = await take(
          shape,
          form(['name="image"', text], ['name="type"', 'base64']),
          FORM,
          pieceBytes,
        );
        expect(asForm).toEqual({ files: [picture], names: [null], fields: { type: 'base64' } });
        const encoded = Buffer.from(
          new URLSearchParams({ name: 'a b&c', image: text, type: 'base64' }).toString(),
        );
        const asFields = await take(shape, encoded, ENCODED, pieceBytes);
        expect(asFields).toEqual({
          files: [picture],
          names: [null],
          fields: { name: 'a b&c', type: 'base64' },
        });
        const asBody = await take(shape, Buffer.from(text), 'text/plain', pieceBytes);
        expect(asBody.files).toEqual([picture]);
      });
    }
  }

  test('does not affect a picture sent as a file', async () => {
    expect((await take(shape, form(['name="image"; filename="a"', picture]), FORM)).files).toEqual([picture]);
    expect((await take(shape, picture, 'image/png')).files).toEqual([picture]);
  });

  const broken: [string, string, string][] = [
    [
      'with a stranger in it',
      `${base64.slice(0, 2000)}!${base64.slice(2000)}`,
      'The Base64 in the field image is invalid.',
    ],
    [
      'that goes on after its end',
      `${base64.slice(0, 400)}==${base64}`,
      'The Base64 in the field image is invalid.',
    ],
    [
      'in a data: URL of another kind',
      'data:image/svg+xml,%3Csvg',
      'A data: URL must be in Base64, as in data:image/png;base64,...',
    ],
    ['that is empty', '', 'No image was sent.'],
  ];
  for (const [name, text, sentence] of broken) {
    test(`${name} is refused in words`, async () => {
      const { message, details } = await refusal(take(shape, form(['name="image"', text]), FORM));
      expect([message, details?.[0]?.field]).toEqual([sentence, 'image']);
      const encoded = Buffer.from(new URLSearchParams({ image: text }).toString());
      expect((await refusal(take(shape, encoded, ENCODED))).message).toBe(sentence);
    });
  }

  test('that is a URL comes as it was sent', async () => {
    const url = `https://pictures.example/${'a'.repeat(1000)}.png`;
    for (const pieceBytes of [1, 1000]) {
      const { files } = await take(shape, form(['name="image"', url]), FORM, pieceBytes);
      expect(files).toEqual([Buffer.from(url)]);
    }
  });

  test('has the same size limit as a file', async () => {
    const most = randomBytes(MAX_BYTES);
    const sent = (bytes: Buffer) =>
      take(shape, Buffer.from(new URLSearchParams({ image: bytes.toString('base64') }).toString()), ENCODED);
    expect((await sent(most)).files).toEqual([most]);
    expect((await refusal(sent(Buffer.concat([most, Buffer.from('x')])))).code).toBe('too_large');
  });

  const forms: [string, string, string][] = [
    ['without the picture', 'title=a', 'The form has no picture in the field image.'],
    ['with two', `image=${base64.slice(0, 400)}&image=a`, 'Send one picture in the field image.'],
    ['with a long field', `title=${'x'.repeat(8193)}&image=a`, 'The field title is longer than 8192 bytes.'],
    ['of endless fields', 'a=b&'.repeat(2000), 'The form has too many fields.'],
    ['with an empty picture', 'image&title=a', 'No image was sent.'],
    ['with nothing', '', 'The form has no picture in the field image.'],
  ];
  for (const [name, text, sentence] of forms) {
    test(`in a form ${name} is refused`, async () => {
      expect((await refusal(take(shape, Buffer.from(text), ENCODED))).message).toBe(sentence);
    });
  }

  test('in JSON has as many fields as in a form, and no longer ones', async () => {
    const send = (fields: object) =>
      take(shape, Buffer.from(JSON.stringify({ ...fields, image: base64 })), 'application/json');
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, 'x']));
    expect((await send({ ...many(19), title: 'x'.repeat(8192), none: null })).files).toEqual([picture]);
    expect((await refusal(send(many(21)))).message).toBe('The form has too many fields.');
    expect((await refusal(send(many(10_000)))).message).toContain('more than 10000 names');
    expect((await refusal(send({ ['x'.repeat(8193)]: '' }))).code).toBe('invalid_parameter');
    const { message } = await refusal(send({ title: 'x'.repeat(8193) }));
    expect(message).toBe('The field title is longer than 8192 bytes.');
  });
});
