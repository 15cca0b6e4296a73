import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExampleLanguage, ExampleRequest } from '../../src/web/client/examples.js';
import { exampleOf, LANGUAGES } from '../../src/web/client/examples.js';
import { absent } from '../support/absent.ts';
import { pythonWithRequests } from '../support/python.ts';

const TOKEN = 'a-token-of-sixteen';
const PHOTO = 'not quite a photo';

interface Received {
  method: string;
  path: string;
  token: string | null;
  header: string | null;
  body: unknown;
}

let folder: string;
let server: Bun.Server<undefined>;
const received: Received[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'picpool-examples-'));
  await Bun.write(join(folder, 'photo.jpg'), PHOTO);
  server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      received.push({
        method: request.method,
        path: pathname + search,
        token: request.headers.get('authorization'),
        header: request.headers.get('x-delete-token'),
        body: await bodyOf(request),
      });
      if (pathname === '/events') {
        return new Response('data: 1\n\ndata: 2\n\n', { headers: { 'content-type': 'text/event-stream' } });
      }
      return Response.json({ success: true });
    },
  });
});

afterAll(async () => {
  await server?.stop(true);
  await rm(folder, { recursive: true, force: true });
});

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

const request = (path: string, more: Partial<ExampleRequest> = {}): ExampleRequest => ({
  method: 'GET',
  url: `${server.url.origin}${path}`,
  headers: [],
  token: false,
  body: null,
  answer: 'json',
  ...more,
});

const TRICKY = `it's "quoted", \\back\\ and $HOME, \`ticked\``;
const field = (name: string, value: string, isFile = false) => ({ name, value, isFile });
const CASES: [what: string, make: () => ExampleRequest, expected: Partial<Received>][] = [
  [
    'a query',
    () => request('/a?country=US%2CDE&limit=5'),
    { method: 'GET', path: '/a?country=US%2CDE&limit=5' },
  ],
  [
    'a token and a header',
    () => request('/b', { method: 'DELETE', token: true, headers: [['X-Delete-Token', 'abc']] }),
    { method: 'DELETE', path: '/b', token: `Bearer ${TOKEN}`, header: 'abc' },
  ],
  [
    'a body in JSON',
    () =>
      request('/c', {
        method: 'PATCH',
        body: { kind: 'json', text: JSON.stringify({ name: TRICKY, on: true, none: null, list: [1, 2] }) },
      }),
    { method: 'PATCH', path: '/c', body: { name: TRICKY, on: true, none: null, list: [1, 2] } },
  ],
  [
    'a form with a file',
    () =>
      request('/d', {
        method: 'POST',
        body: { kind: 'multipart', fields: [field('image', 'photo.jpg', true), field('filename', TRICKY)] },
      }),
    {
      method: 'POST',
      path: '/d',
      body: expect.arrayContaining([
        ['image', PHOTO],
        ['filename', TRICKY],
      ]),
    },
  ],
  [
    'an encoded form',
    () => request('/e', { method: 'POST', body: { kind: 'urlencoded', fields: [field('token', 'a&b=c')] } }),
    { method: 'POST', path: '/e', body: [['token', 'a&b=c']] },
  ],
  ['events', () => request('/events', { answer: 'events' }), { method: 'GET', path: '/events' }],
];

async function run(language: ExampleLanguage, program: string): Promise<string> {
  const file = join(folder, { curl: 'x.sh', javascript: 'x.mjs', python: 'x.py', go: 'x.go' }[language]);
  await Bun.write(file, program);
  const command = {
    curl: ['sh', file],
    javascript: [process.execPath, file],
    python: [pythonWithRequests ?? '', file],
    go: ['go', 'run', file],
  }[language];
  const child = Bun.spawn(command, {
    cwd: folder,
    stdout: 'pipe',
    stderr: 'pipe',
    // Without C, Go has less of its library to compile where nobody has done so yet.
    env: { ...process.env, PICPOOL_TOKEN: TOKEN, CGO_ENABLED: '0' },
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(`${program}\n\n${stderr}`);
  return stdout;
}

const PROGRAMS: Record<ExampleLanguage, string> = {
  curl: 'curl',
  javascript: 'sh',
  python: 'python3',
  go: 'go',
};

for (const language of Object.keys(LANGUAGES) as ExampleLanguage[]) {
  const isMissing = language === 'python' ? !pythonWithRequests : absent(PROGRAMS[language]);
  test.skipIf(isMissing)(
    `the examples in ${LANGUAGES[language]} send what the form says, and keep the token out`,
    async () => {
      for (const [what, make, expected] of CASES) {
        received.length = 0;
        const program = exampleOf(language, make());
        expect(program).not.toContain(TOKEN);
        const shown = await run(language, program);
        expect([what, received]).toEqual([what, [expect.objectContaining(expected)]]);
        expect(shown).toMatch(what === 'events' ? /data: 1\s+data: 2/ : /success/);
      }
    },
    // Go compiles its libraries first where nobody has used them yet: a minute, where two cores have more to do.
    180_000,
  );
}
