import { describe, expect, test } from 'bun:test';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { uploadAnswer, uploadsAnswer } from '../../src/image/schemas.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { quarters } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { PNG, withServer } from '../support/servers/running-server.ts';
import { shared } from '../support/shared.ts';

const hosts = imageHosts();
const png = new Uint8Array(await quarters().png().toBuffer());
const host = shared(() => hosts.start());

type Several = Static<typeof uploadsAnswer.schema>;
const TEXT = new TextEncoder().encode('not a picture at all');
const NOTHING = new Uint8Array();

function formOf(files: Record<string, Uint8Array<ArrayBuffer>>, fields: Record<string, string> = {}) {
  const body = new FormData();
  for (const [name, bytes] of Object.entries(files)) body.append('image', new File([bytes], name));
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  return { method: 'POST', body };
}

const numbered = (count: number, bytes: Uint8Array<ArrayBuffer>) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${index}.png`, bytes]));

describe('a form with several files', () => {
  test('returns one result for each, in order, and one that fails does not affect the others', async () => {
    const files = { 'one.png': png, 'notes.txt': TEXT, 'two.png': png, 'empty.png': NOTHING };
    const answer = await host.send('/api/upload', formOf(files, { format: 'png', password: 'secret' }));
    expect([answer.status, answer.headers.get('location')]).toEqual([201, null]);
    const body = await json<Several>(answer);
    expect([...Value.Errors(uploadsAnswer.schema, body)]).toEqual([]);
    expect(body).toMatchObject({ success: true, stored: 2, failed: 2 });
    const [one, notes, two, empty] = body.results;
    for (const result of [one, two]) {
      expect([...Value.Errors(uploadAnswer.schema, result)]).toEqual([]);
      expect(result).toMatchObject({ format: 'png', protected: true });
    }
    expect([one?.filename, two?.filename]).toEqual(['one.png', 'two.png']);
    expect(notes).toMatchObject({ success: false, filename: 'notes.txt', code: 'not_an_image' });
    expect(empty).toMatchObject({ success: false, filename: 'empty.png', code: 'invalid_parameter' });
    expect(await host.temporaryFiles()).toEqual([]);
  });

  test('is refused with the error of the first if none is a picture, and says what is wrong with each', async () => {
    const answer = await host.send('/api/upload', formOf({ 'a.txt': TEXT, 'b.png': NOTHING }));
    expect(answer.status).toBe(415);
    expect(await json(answer)).toMatchObject({
      success: false,
      code: 'not_an_image',
      details: [
        { field: 'image[0]', message: expect.stringContaining('not in a known picture format') },
        { field: 'image[1]', message: 'The file is empty: it has 0 bytes.' },
      ],
    });
  });

  test('is refused whole for a fault of the form', async () => {
    const before = (await host.files()).length;
    const two = { 'a.png': png, 'b.png': png };
    for (const [field, value] of [
      ['format', 'bmp'],
      ['filename', 'x.png'],
    ] as const) {
      const answer = await host.send('/api/upload', formOf(two, { [field]: value }));
      expect(answer.status).toBe(400);
      expect(await json(answer)).toMatchObject({ details: [{ field }] });
    }
    const many = formOf(numbered(21, png));
    expect((await host.send('/api/upload', many)).status).toBe(400);
    expect((await host.files()).length).toBe(before);
    expect(await host.temporaryFiles()).toEqual([]);
  });

  test('is answered to a browser without scripts with a page of them and their delete links', async () => {
    const answer = await host.send('/api/upload', {
      ...formOf({ 'one <b>.png': png, 'notes.txt': TEXT }),
      headers: { accept: 'text/html' },
    });
    const page = await answer.text();
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([
      201,
      expect.stringContaining('no-store'),
    ]);
    expect(page).toContain('one &lt;b&gt;.png');
    expect(page).toContain('notes.txt');
    const link = /http:\/\/img\.example(\/i\/\w{12}\/delete\?token=\w+)/.exec(page)?.[1] ?? '';
    expect((await host.send(link)).status).toBe(200);
  });
});

test('each file of a form counts as an upload of its client', () =>
  withServer({ RATE_LIMITS: 'upload=3/24h', SERVICES: 'image' }, async (server) => {
    const send = () => server.send('/api/upload', { ...formOf(numbered(5, PNG)), from: '192.0.2.1' });
    const body = await json<Several>(await send());
    expect(body).toMatchObject({ stored: 3, failed: 2 });
    const codes = body.results.flatMap((result) => (result.success ? [] : [result.code]));
    expect(codes).toEqual(['rate_limited', 'rate_limited']);
    expect((await send()).status).toBe(429);
  }));
