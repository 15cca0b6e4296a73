import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Operation } from '../../src/web/api-description.ts';
import { curlFor } from '../../src/web/docs-operation.ts';
import { run } from '../support/run.ts';
import { sharedFolder } from '../support/shared.ts';

const TOKEN = 'a-token-of-sixteen';
const PHOTO = 'not quite a photo';

interface Received {
  method: string;
  path: string;
  token: string | null;
  body: unknown;
}

let server: Bun.Server<undefined>;
const received: Received[] = [];

beforeAll(async () => {
  for (const name of ['photo.jpg', 'FILE']) await Bun.write(join(folder, name), PHOTO);
  server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      received.push({
        method: request.method,
        path: pathname + search,
        token: request.headers.get('authorization'),
        body: await bodyOf(request),
      });
      if (pathname === '/events') {
        return new Response('data: 1\n\ndata: 2\n\n', { headers: { 'content-type': 'text/event-stream' } });
      }
      return Response.json({ success: true });
    },
  });
});

afterAll(() => server?.stop(true));
const folder = await sharedFolder();

async function bodyOf(request: Request): Promise<unknown> {
  const type = request.headers.get('content-type') ?? '';
  if (type.startsWith('application/json')) return request.json();
  if (!type.startsWith('multipart/') && !type.startsWith('application/x-www-form-urlencoded'))
    return request.text();
  const form = await request.formData();
  return Promise.all(
    [...form].map(async ([name, value]) => [name, typeof value === 'string' ? value : await value.text()]),
  );
}

const TRICKY = `it's "quoted", \\back\\ and $HOME, \`ticked\``;
const answers = (type: string) => ({ 200: { description: '', content: { [type]: {} } } });
const bodyWith = (type: string, media: object) => ({ requestBody: { content: { [type]: media } } });
const form = {
  properties: { image: { format: 'binary' }, name: { type: 'string' }, other: { type: 'string' } },
  required: ['name'],
};
const param = (name: string, place: 'path' | 'query', required = true) => ({
  ...{ name, in: place, required, schema: {} },
});
type Case = [what: string, method: string, path: string, operation: Partial<Operation>, Partial<Received>];

test.each<Case>([
  [
    'what must be filled in',
    'GET',
    '/a/{id}',
    { parameters: [param('id', 'path'), param('q', 'query'), param('page', 'query', false)] },
    { method: 'GET', path: '/a/ID?q=Q' },
  ],
  [
    'the token',
    'DELETE',
    '/b',
    { security: [{ token: [] }] },
    { method: 'DELETE', token: `Bearer ${TOKEN}` },
  ],
  [
    'a body in JSON',
    'PATCH',
    '/c',
    bodyWith('application/json', { example: { name: TRICKY, none: null, list: [1, 2] } }),
    { method: 'PATCH', body: { name: TRICKY, none: null, list: [1, 2] } },
  ],
  [
    'a form with a file',
    'POST',
    '/d',
    bodyWith('multipart/form-data', { schema: form }),
    {
      method: 'POST',
      body: [
        ['image', PHOTO],
        ['name', 'NAME'],
      ],
    },
  ],
  [
    'an encoded form',
    'POST',
    '/e',
    bodyWith('application/x-www-form-urlencoded', { schema: { ...form, properties: { name: {} } } }),
    { method: 'POST', body: [['name', 'NAME']] },
  ],
  [
    'bytes of which nothing is known',
    'POST',
    '/b',
    bodyWith('application/octet-stream', { schema: { type: 'string' } }),
    { method: 'POST', body: PHOTO },
  ],
  ['events', 'GET', '/events', { responses: answers('text/event-stream') }, { path: '/events' }],
])('the command line of a call sends %s', async (what, method, path, operation, expected) => {
  received.length = 0;
  const described = { operationId: 'x', summary: '', responses: answers('application/json'), ...operation };
  const line = curlFor({ method, path, operation: described }, { origin: server.url.origin, path: '' });
  const env = { ...process.env, PICPOOL_TOKEN: TOKEN };
  const shown = await run(['sh', '-c', line], { cwd: folder, env });
  expect(received).toEqual([expect.objectContaining(expected)]);
  expect(shown).toMatch(what === 'events' ? /data: 1\s+data: 2/ : /success/);
});

test('the command line of a call saves a file', () => {
  const operation = { operationId: 'x', summary: '', responses: answers('application/zip') };
  const line = curlFor({ method: 'GET', path: '/z', operation }, { origin: 'http://127.0.0.1', path: '/p' });
  expect(line).toBe('curl -o answer.bin http://127.0.0.1/p/z');
});
