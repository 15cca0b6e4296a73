import { expect, spyOn, test } from 'bun:test';
import { once } from 'node:events';
import { appendFile, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { createClient } from '../../src/cli/client.ts';
import { command as exporting } from '../../src/cli/export.ts';
import { openKeptTokens } from '../../src/cli/kept-tokens.ts';
import type { Environment } from '../../src/config.ts';
import { cli } from '../support/servers/cli.ts';
import { PNG } from '../support/servers/running-server.ts';
import { LIGHT, startServer } from '../support/servers/server-process.ts';
import { withFolder } from '../support/temporary.ts';

const PICTURE = 'test/fixtures/moving.avif';

test(
  'what was uploaded from here is deleted from here, with the token that was kept for the owner alone',
  () =>
    withFolder(async (folder) => {
      const server = await startServer(
        'bun',
        { ...LIGHT, SERVICES: 'image', IMAGE_DELETE_BY_ADDRESS: 'off' },
        folder,
      );
      const env = { PICPOOL_URL: server.url, XDG_CONFIG_HOME: join(folder, 'config') };
      const upload = async (runtime: 'bun' | 'deno', more: string[] = []) => {
        const stdin = new Blob([new Uint8Array(PNG)]);
        const { code, stdout } = await cli(['upload', ...more, '-'], { env, stdin, runtime });
        expect(code).toBe(0);
        return stdout.trim();
      };
      try {
        const [page, raw] = [await upload('bun'), await upload('deno', ['--print', 'raw_url'])];
        const path = join(folder, 'config/picpool/tokens');
        expect([(await stat(path)).mode & 0o777, (await stat(join(path, '..'))).mode & 0o777]).toEqual([
          0o600, 0o700,
        ]);
        expect((await readFile(path, 'utf8')).split('\n').filter(Boolean)).toHaveLength(2);

        const stranger = await cli(['delete', page], {
          env: { ...env, XDG_CONFIG_HOME: join(folder, 'other') },
        });
        expect([stranger.code, stranger.stderr]).toEqual([1, expect.stringContaining('(403)')]);
        const deleted = await cli(['delete', page, raw], { env });
        expect([deleted.code, deleted.stdout, deleted.stderr]).toEqual([
          0,
          expect.stringMatching(/^(\w{12}\n){2}$/),
          '',
        ]);
        for (const link of [page, raw]) expect((await fetch(link)).status).toBe(404);
        const tokens = openKeptTokens(env);
        for (const link of [page, raw]) {
          const id = /\w{12}/.exec(link.split('/i/')[1] ?? '')?.[0] ?? '';
          expect(await tokens.find({ server: server.url, id })).toBeNull();
        }

        const again = await cli(['delete', page, 'nonsense'], { env, runtime: 'deno' });
        expect(again.code).toBe(1);
        expect(again.stderr).toContain('(404)');
        expect(again.stderr).toContain('nonsense: This is neither a link to an image nor an ID.');
      } finally {
        await server.stop();
      }
    }),
  180_000,
);

test('a token that was kept while others were forgotten is found', () =>
  withFolder(async (folder) => {
    const tokens = openKeptTokens({ XDG_CONFIG_HOME: folder });
    const named = (id: string) => ({ server: 'http://localhost:3000', id });
    const ids = Array.from({ length: 200 }, (_, index) => `id${index}`);
    for (const id of ids.slice(0, 100)) await tokens.keep(named(id), 'old');
    await Promise.all(
      ids.map((id, index) => (index < 100 ? tokens.forget(named(id)) : tokens.keep(named(id), 'new'))),
    );
    const found = await Promise.all(ids.map((id) => tokens.find(named(id))));
    expect(found).toEqual(ids.map((_, index) => (index < 100 ? null : 'new')));
  }));

test('a line that a full disk or a crash has cut costs only its own token', () =>
  withFolder(async (folder) => {
    const tokens = openKeptTokens({ XDG_CONFIG_HOME: folder });
    const [first, second] = ['first', 'second'].map((id) => ({ server: 'http://localhost:3000', id }));
    if (!first || !second) throw new Error('unreachable');
    await tokens.keep(first, 'one');
    await appendFile(tokens.path, 'http://localhost:3000 cut');
    await tokens.keep(second, 'two');
    expect([await tokens.find(first), await tokens.find(second)]).toEqual(['one', 'two']);
  }));

/** A program that need not be picpool. */
async function withStranger(
  answer: (request: Request) => Response | Promise<Response>,
  work: (url: string) => Promise<void>,
): Promise<void> {
  const stranger = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer });
  await work(stranger.url.href.replace(/\/$/, '')).finally(() => stranger.stop(true));
}

const page = () => new Response('<html>Log in</html>', { headers: { 'content-type': 'text/html' } });

test.each([
  ['a page', page],
  ['an empty object', () => Response.json({})],
  ['a success without fields', () => Response.json({ success: true })],
  ['a failure', () => Response.json({ success: false, id: 'abcdefghijkl', removed: 1, freed_bytes: 1 })],
] as const)('every command refuses %s from another program, and forgets nothing', (_, answer) =>
  withFolder((folder) =>
    withStranger(answer, async (url) => {
      const env = { PICPOOL_URL: url, XDG_CONFIG_HOME: folder };
      const image = { server: url, id: 'abcdefghijkl' };
      await openKeptTokens(env).keep(image, 'token');
      const commands = [
        ...[['delete', image.id], ['cleanup'], ['refresh'], ['upload', PICTURE]],
        ['upload', '--album', 'title', PICTURE],
        ...(answer === page ? [['export'], ['export', '--format', 'json']] : []),
      ];
      for (const args of commands) {
        const { code, stdout, stderr } = await cli(args, { env });
        expect([args, code, stdout]).toEqual([args, 1, '']);
        expect(stderr).toContain('is not one of picpool');
      }
      expect(await openKeptTokens(env).find(image)).toBe('token');
    }),
  ),
);

test.each([
  [2, /^.* was cut off .*may have been done\.\n$/],
  [1, /^.* was cut off .*may have been done\. Sent again: .* does not respond .*\n$/],
])('that an upload may have been done is said if %d of its responses break off', (most, sentence) =>
  withFolder(async (folder) => {
    let calls = 0;
    const cut = createServer((socket) => {
      if (++calls === most) cut.close();
      socket.once('data', () => {
        socket.write('HTTP/1.1 201 Created\r\ncontent-length: 500\r\n\r\n{"success":', () => socket.end());
      });
    });
    cut.listen(0, '127.0.0.1');
    await once(cut, 'listening');
    const { port } = cut.address() as AddressInfo;
    const env = { PICPOOL_URL: `http://127.0.0.1:${port}`, XDG_CONFIG_HOME: folder };
    const { code, stdout, stderr } = await cli(['upload', PICTURE], { env });
    expect([code, stdout, stderr, calls]).toEqual([1, '', expect.stringMatching(sentence), most]);
  }),
);

test('a picture whose answer was lost is asked for again, so that it is stored once and can be deleted', () =>
  withFolder(async (folder) => {
    const server = await startServer('bun', { ...LIGHT, SERVICES: 'image' }, folder);
    const reset = () => {
      const body = new ReadableStream({ pull: (controller) => controller.error(new Error('cut')) });
      return new Response(body);
    };
    for (const lose of [() => new Response('', { status: 502 }), reset]) {
      const stored: string[] = [];
      const relay = async ({ method, headers, body }: Request) => {
        const answer = await fetch(`${server.url}/api/upload`, { method, headers, body });
        const facts = (await answer.json()) as { id: string };
        return stored.push(facts.id) === 1 ? lose() : Response.json(facts);
      };
      await withStranger(relay, async (url) => {
        const env = { PICPOOL_URL: url, XDG_CONFIG_HOME: folder };
        expect(await cli(['upload', PICTURE], { env })).toMatchObject({ code: 0, stderr: '' });
        const [id = ''] = stored;
        expect(stored).toEqual([id, id]);
        expect(await openKeptTokens(env).find({ server: url, id })).not.toBeNull();
      });
    }
    await server.stop();
  }));

const uploaded = (id: string, base = 'http://pics.example') => ({
  ...{ success: true, id, delete_token: `token-of-${id}`, url: `${base}/i/${id}`, raw_url: '' },
  ...{ markdown: '', html: '', bbcode: '', warnings: [] },
});

test('a delete token that cannot be kept is shown', () =>
  withFolder((folder) =>
    withStranger(
      () => Response.json(uploaded('abcdefghijkl')),
      async (url) => {
        const file = join(folder, 'file');
        await writeFile(file, '');
        for (const more of [{ HOME: '', XDG_CONFIG_HOME: '' }, { XDG_CONFIG_HOME: file }]) {
          const { code, stderr } = await cli(['upload', resolve(PICTURE)], {
            env: { PICPOOL_URL: url, ...more },
            cwd: folder,
          });
          expect([code, stderr]).toEqual([0, expect.stringContaining('token is token-of-abcdefghijkl\n')]);
          expect(stderr).toMatch(/picpool\/tokens cannot be written \((HOME is not set|ENOTDIR)\)/);
        }
      },
    ),
  ));

test('what a server calls a link stays one line that steers no terminal', () =>
  withFolder((folder) =>
    withStranger(
      () =>
        Response.json({
          ...uploaded('abcdefghijkl'),
          url: 'http://a.example/\u001b]0;x\u0007\nb',
          token: 'c',
          title: '\u0085',
        }),
      async (url) => {
        const env = { PICPOOL_URL: url, XDG_CONFIG_HOME: folder };
        const { stdout } = await cli(['upload', '--album', 'title', PICTURE], { env });
        expect(stdout).toBe('http://a.example/?]0;x??b\n'.repeat(2));
        const whole = await cli(['upload', '--print', 'json', PICTURE], { env });
        expect(JSON.parse(whole.stdout)).toMatchObject({ title: '\u0085' });
      },
    ),
  ));

test('a server overwrites no token that was kept for another one', () => {
  const said = uploaded('abcdefghijkl');
  return withFolder((folder) =>
    withStranger(
      () => Response.json(said),
      async (url) => {
        const env = { PICPOOL_URL: url, XDG_CONFIG_HOME: folder };
        const image = { server: 'http://pics.example', id: 'abcdefghijkl' };
        await openKeptTokens(env).keep(image, 'mine');
        for (const token of ['other', `other\n${image.server} ${image.id} other`]) {
          said.delete_token = token;
          expect((await cli(['upload', PICTURE], { env })).code).toBe(0);
          expect(await openKeptTokens(env).find(image)).toBe('mine');
        }
      },
    ),
  );
});

test('a link names its server, by which its token is found and which gets no token of another server', () =>
  withFolder(async (folder) => {
    const asked: [string, string | null, string | null][] = [];
    const answer = ({ method, url, headers }: Request) => {
      if (method === 'POST') return Response.json(uploaded('abcdefghijkl', other));
      asked.push([new URL(url).origin, headers.get('authorization'), headers.get('x-delete-token')]);
      return Response.json({ success: true, id: 'abcdefghijkl' });
    };
    let other = '';
    await withStranger(answer, (url) =>
      withStranger(answer, async (elsewhere) => {
        other = elsewhere;
        const env = { PICPOOL_URL: url, PICPOOL_TOKEN: 'secret', XDG_CONFIG_HOME: folder };
        const remove = (...args: string[]) => cli(['delete', ...args], { env });
        const link = `${other}/i/abcdefghijkl`;
        expect((await cli(['upload', PICTURE], { env })).code).toBe(0);
        expect((await remove(link)).code).toBe(0);
        expect((await remove('abcdefghijkl')).code).toBe(0);
        expect((await remove('--url', url, link)).code).toBe(0);
        const token = 'token-of-abcdefghijkl';
        expect(asked).toEqual([
          [other, null, token],
          [url, 'Bearer secret', token],
          [url, 'Bearer secret', null],
        ]);
      }),
    );
  }));

test('an upload waits for room in the limits, for a minute at most, and names what a server that has gone did not get', () =>
  withFolder(async (folder) => {
    let calls = 0;
    const limited = (wait: string) =>
      Response.json(
        { success: false, error: 'Too many requests.' },
        { status: 429, headers: { 'retry-after': wait } },
      );
    const date = 'Wed, 21 Oct 2026 07:28:00 GMT';
    const waits = [date, '0.1', '0.1'].map(limited);
    const answers = [...waits, Response.json(uploaded('abcdefghijkl')), limited('90')];
    await withStranger(
      () => answers[calls++] ?? new Response(),
      async (url) => {
        const env = { PICPOOL_URL: url, XDG_CONFIG_HOME: folder };
        const begun = performance.now();
        const { code, stdout, stderr } = await cli(['upload', PICTURE, PICTURE, PICTURE], { env });
        // A server that names almost no time is not asked again and again at once.
        expect(performance.now() - begun).toBeGreaterThan(2000);
        expect([code, stdout, calls]).toEqual([1, 'http://pics.example/i/abcdefghijkl\n', 5]);
        expect(stderr).toContain(
          `(429): Too many requests. Try again after ${date}.\n1 of 3 uploaded (33 %)`,
        );
        expect(stderr).toContain('(429): Too many requests. Try again in 90 s.\n2 files of 3 failed\n');
      },
    );
    const env = { PICPOOL_URL: 'http://127.0.0.1:9', XDG_CONFIG_HOME: folder };
    const away = await cli(['upload', PICTURE, 'two.jpg', 'three.jpg'], { env });
    expect([away.code, away.stderr]).toEqual([
      1,
      expect.stringMatching(/^picpool: \S+avif: .*\nNot tried: two\.jpg three\.jpg\n3 files of 3 failed\n$/),
    ]);
  }));

test('an image whose token cannot be forgotten is deleted, and so are those after it', () =>
  withFolder(async (folder) => {
    const { path, keep } = openKeptTokens({ XDG_CONFIG_HOME: folder });
    const answer = async ({ url }: Request) => {
      await rm(path, { recursive: true });
      await mkdir(path);
      return Response.json({ success: true, id: url.slice(-12) });
    };
    await withStranger(answer, async (server) => {
      await keep({ server, id: 'abcdefghijkl' }, 'token');
      const env = { PICPOOL_URL: server, XDG_CONFIG_HOME: folder };
      const { stdout, stderr } = await cli(['delete', 'abcdefghijkl', 'mnopqrstuvwx'], { env });
      expect([stdout, stderr]).toEqual([
        'abcdefghijkl\n',
        expect.stringMatching(/^picpool: mnopqrstuvwx: \S+ cannot be read \(EISDIR\)\.\n1 image of 2 not/),
      ]);
    });
  }));

test('a refresh is followed while something else answers for the server, and its lists are read as lists', () => {
  const job = (state: string) => Response.json({ success: true, job: { id: 'one', state } });
  const lists = (sources: unknown) => Response.json({ success: true, sources });
  const answers = [job('running'), new Response('', { status: 502 }), job('done'), lists([])];
  return withStranger(
    () => answers.shift() ?? page(),
    async (url) => {
      const run = () => cli(['refresh'], { env: { PICPOOL_URL: url } });
      expect(await run()).toMatchObject({ code: 0, stderr: '' });
      answers.push(job('running'), job('done'), lists({ name: 'a' }));
      expect((await run()).stderr).toContain('is not one of picpool');
      answers.push(job('running'));
      expect((await run()).stderr).toContain('but cannot be followed. The response of http://127.0.0.1:');
    },
  );
}, 30_000);

test('a refusal names the variable of the token, and a redirect, which is not followed, its place', () =>
  withStranger(
    ({ url }) =>
      url.endsWith('cleanup')
        ? Response.json({ success: false, error: 'No.' }, { status: 401 })
        : Response.redirect('https://new.example/api/refresh', 308),
    async (url) => {
      const saying = async (name: string, env: Record<string, string> = {}) =>
        (await cli([name], { env: { PICPOOL_URL: url, ...env } })).stderr;
      expect(await saying('cleanup')).toEndWith('No. Set PICPOOL_TOKEN to a token of the server.\n');
      expect(await saying('cleanup', { ADMIN_TOKEN: 'x' })).toEndWith('ADMIN_TOKEN does not match.\n');
      const both = { ADMIN_TOKEN: 'x', PICPOOL_TOKEN: 'y' };
      expect(await saying('cleanup', both)).toEndWith('PICPOOL_TOKEN does not match.\n');
      expect(await saying('refresh')).toContain('redirects to https://new.example/api/refresh.');
    },
  ));

test.each(['bun', 'deno'] as const)(
  'on %s, no proxy of the environment sees what is sent in plain http',
  (runtime) =>
    withStranger(
      () => Response.json({ success: true, removed: 1, freed_bytes: 1, complete: true }),
      (url) =>
        withStranger(
          () => new Response('seen'),
          async (proxy) => {
            const env = { PICPOOL_URL: url, HTTP_PROXY: proxy, http_proxy: proxy, ADMIN_TOKEN: 'x' };
            expect(await cli(['cleanup'], { env, runtime })).toMatchObject({ code: 0, stderr: '' });
          },
        ),
    ),
);

const stalling = ({ method }: Request) => {
  const start = (body: ReadableStreamDefaultController) => body.enqueue(new TextEncoder().encode('{'));
  const pull = (body: ReadableStreamDefaultController) => Bun.sleep(5).then(() => start(body));
  return method === 'POST'
    ? new Response(new ReadableStream({ pull }), { status: 500 })
    : new Response(new ReadableStream({ start }), { headers: { 'content-type': 'text/plain' } });
};

test('a list without its end is incomplete, and so is a cleanup that has removed nothing and is not done', () =>
  withStranger(
    ({ method, url }) => {
      if (method === 'POST')
        return Response.json({ success: true, removed: 0, freed_bytes: 0, complete: false });
      const [type, body] = url.endsWith('format=json')
        ? ['application/json', '[\n{"port":80},\n']
        : ['text/plain', 'http://203.0.113.9:80\nhttp://203.0.113.9:8'];
      return new Response(body, { headers: { 'content-type': type } });
    },
    async (url) => {
      const env = { PICPOOL_URL: url };
      for (const words of [[], ['--format', 'json']]) {
        const list = await cli(['export', ...words], { env });
        expect([list.code, list.stderr]).toEqual([1, expect.stringContaining('the list is incomplete')]);
      }
      const cleanup = await cli(['cleanup'], { env });
      expect([cleanup.code, cleanup.stdout, cleanup.stderr]).toEqual([
        1,
        '',
        expect.stringContaining('again'),
      ]);
    },
  ));

test('a server of another version that leaves out a link costs no delete token', () =>
  withFolder((folder) =>
    withStranger(
      () => Response.json({ ...uploaded('abcdefghijkl'), warnings: null, bbcode: null }),
      async (url) => {
        const env = { PICPOOL_URL: url, XDG_CONFIG_HOME: folder };
        const told = await cli(['upload', PICTURE], { env });
        expect([told.code, told.stderr]).toEqual([0, '']);
        const lacking = await cli(['upload', '--print', 'bbcode', PICTURE], { env });
        expect([lacking.code, lacking.stdout, lacking.stderr]).toEqual([
          1,
          '',
          expect.stringContaining('uploaded to http://pics.example/i/abcdefghijkl, but the server'),
        ]);
        const kept = await openKeptTokens(env).find({ server: url, id: 'abcdefghijkl' });
        expect(kept).toBe('token-of-abcdefghijkl');
      },
    ),
  ));

test('without a URL, commands ask the server that the settings describe, and no other', async () => {
  const client = (env: Environment, ...service: ['PROXY_BASE_PATH'?]) =>
    createClient(undefined, env, ...service);
  const own = { HOST: '::1', PORT: ' 8080 ' };
  const urls = [{}, { PORT: '8080' }, own, { ...own, PICPOOL_URL: 'http://other/' }].map(
    (env) => client(env).url,
  );
  expect(urls).toEqual([
    'http://localhost:3000',
    'http://localhost:8080',
    'http://[::1]:8080',
    'http://other',
  ]);
  const paths = { IMAGE_BASE_PATH: '/img', PROXY_BASE_PATH: '/pool' };
  expect(client(paths).url).toBe('http://localhost:3000/img');
  expect(client(paths, 'PROXY_BASE_PATH').url).toBe('http://localhost:3000/pool');
  expect(() => client({ PORT: 'x' })).toThrow('PORT must be');
  const atSocket = client({ HOST: 'unix:/run/picpool.sock' });
  await expect(atSocket.ask('POST', '/api/cleanup', {})).rejects.toThrow('--url or PICPOOL_URL');
});

/** The work's timers end 200 times as early. Resolves with its failure. */
async function failureOf(work: () => Promise<unknown>): Promise<unknown> {
  const { setTimeout: real } = globalThis;
  const timers = spyOn(globalThis, 'setTimeout').mockImplementation(((done: () => void, ms = 0) =>
    real(done, ms / 200)) as typeof setTimeout);
  return await work()
    .catch((error: unknown) => error)
    .finally(() => timers.mockRestore());
}

test('an answer that stalls, or refuses in drops, ends a call, and an export', () =>
  withStranger(stalling, async (url) => {
    const { ask } = createClient(url, {});
    const [asked, refused] = [
      await failureOf(() => ask('GET', '/', {})),
      await failureOf(() => ask('POST', '/', {})),
    ];
    expect(String(asked)).toContain('cut off (no response within 30 s); what was asked may have been done.');
    expect(String(refused)).toContain('status 500 and no reason');
    const terminal = { print: async () => {} };
    const surroundings = { env: {}, terminal } as unknown as Parameters<typeof exporting.run>[1];
    const exported = await failureOf(() => exporting.run(['--url', url], surroundings));
    expect(String(exported)).toContain('(the server has gone silent); the list is incomplete.');
  }));
