import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ProxyWorld, startProxyWorld } from '../support/farm/proxy-world.ts';
import { animation, photo, privatePhoto } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { cli, cliCommand, cliEnvironment, sortedLines } from '../support/servers/cli.ts';
import { LIGHT, logInto, type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { sharedFolder } from '../support/shared.ts';
import { until } from '../support/stores/services.ts';
import { withFolder } from '../support/temporary.ts';

const ADMIN_TOKEN = 'a token of the administrator';
const TOKEN = ADMIN_TOKEN.replaceAll(' ', '-');
/** Closed on every machine. */
const NOBODY = 'http://127.0.0.1:9';

let world: ProxyWorld;
let server: ServerProcess;
/** Of a program that may talk to the server. */
let env: Record<string, string>;

beforeAll(async () => {
  world = await startProxyWorld();
  server = await startServer('bun', { ...LIGHT, ...world.env, ADMIN_TOKEN: TOKEN, IMAGE_FROM_URL: 'token' });
  env = { PICPOOL_URL: server.url, ADMIN_TOKEN: TOKEN };
}, 180_000);

afterAll(async () => {
  await server?.stop();
  await world?.stop();
});
const folder = await sharedFolder();

/** Of the broken, the first never answers, which takes a whole time limit. */
const list = (broken = world.broken.slice(1)) =>
  [...broken, 'rubbish', ...world.working, world.working[0]].join('\n');

describe.each(['bun', 'deno'] as const)('check on %s', (runtime) => {
  test('prints only the working proxies of standard input, and says how many entries were skipped', async () => {
    const { code, stdout, stderr } = await cli(['check'], { runtime, env: world.env, stdin: list() });
    expect(sortedLines(stdout)).toEqual([...world.working].sort());
    expect(stderr).toEndWith('9 of 12 alive; 1 entry is not a proxy; 1 duplicate\n');
    expect(code).toBe(0);
  });

  test('ends quietly when its reader has enough, though the list goes on', async () => {
    const command = cliCommand(['check', '--quiet'], runtime).map((word) => `'${word}'`);
    // The second comes when the reader has left: both together could be written before it has.
    const left = join(folder, `left-${runtime}`);
    const wait = `until [ -e '${left}' ]; do sleep 0.05; done`;
    const feed = `printf '%s\\n' "$1"; ${wait}; while printf '%s\\n' "$2"; do sleep 0.1; done`;
    const reader = `head -n 1; exec <&-; : > '${left}'`;
    const script = `( ${feed} ) | ( ${command.join(' ')}; echo "code $?" >&2 ) | ( ${reader} )`;
    const child = Bun.spawn(['sh', '-c', script, 'sh', ...world.working.slice(0, 2)], {
      stdout: 'pipe',
      stderr: 'pipe',
      env: cliEnvironment(world.env),
    });
    expect(world.working).toContain((await child.stdout.text()).trim());
    expect(await child.stderr.text()).toBe('code 141\n');
  });
});

test.each(['bun', 'deno'] as const)(
  'a check on %s that is interrupted says what it has found',
  async (runtime) => {
    const child = Bun.spawn(cliCommand(['check'], runtime), {
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
      env: cliEnvironment({ ...world.env, PROXY_CHECK_TIMEOUT: '60s' }),
    });
    const [silent = ''] = world.broken;
    child.stdin.write(`${silent}\n${world.working[0]?.replace(/:(\d+)$/, ' $1')}\n`);
    child.stdin.flush();
    const { value } = await child.stdout.pipeThrough(new TextDecoderStream()).getReader().read();
    expect(value).toBe(`${world.working[0]}\n`);
    child.kill('SIGINT');
    expect(await child.exited).toBe(130);
    expect(await child.stderr.text()).toEndWith('1 of 1 alive\n');
  },
);

test('check prints the living while the list still comes', async () => {
  const child = Bun.spawn(cliCommand(['check', '-q']), {
    stdin: 'pipe',
    stdout: 'pipe',
    env: cliEnvironment(world.env),
  });
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  for (const proxy of world.working.slice(0, 2)) {
    child.stdin.write(`${proxy}\n`);
    child.stdin.flush();
    expect((await lines.read()).value).toBe(`${proxy}\n`);
  }
  child.stdin.end();
  expect(await child.exited).toBe(0);
});

test('check writes text, JSON and CSV', async () => {
  const path = join(folder, 'list.txt');
  await writeFile(path, list());
  const [text, objects, table] = await Promise.all(
    ['text', 'json', 'csv'].map((format) =>
      cli(['check', path, '-q', '--format', format], { env: world.env }),
    ),
  );
  expect(sortedLines(text?.stdout ?? '')).toEqual(world.working.map((one) => one.replace(/.*\//, '')).sort());
  const parsed = sortedLines(objects?.stdout ?? '').map((line) => JSON.parse(line));
  expect(parsed.map(({ protocol, ip, port }) => `${protocol}://${ip}:${port}`).sort()).toEqual(
    [...world.working].sort(),
  );
  expect(parsed[0]).toMatchObject({
    country: 'ZZ',
    exit_ip: expect.any(String),
    response_time: expect.any(Number),
  });
  const rows = (table?.stdout ?? '').trim().split('\n');
  expect(rows[0]).toStartWith('protocol,ip,port,country,');
  expect(rows).toHaveLength(world.working.length + 1);
  expect([text, objects, table].map((result) => result?.stderr)).toEqual(['', '', '']);
});

test('check tries an entry without a protocol as what was asked for, with judges of the command line', async () => {
  const bare = world.working.filter((one) => one.startsWith('socks5')).map((one) => one.replace(/.*\//, ''));
  const { PROXY_JUDGES: judges = '', PROXY_JUDGE_CA: ca = '' } = world.env;
  const args = [
    '--protocol=socks5',
    '--judge',
    judges,
    '--judge-ca',
    ca,
    '--allow-private',
    '--timeout=3s',
    '--concurrency=8',
  ];
  const { code, stdout } = await cli(['check', '-', ...args], { stdin: bare.join('\n') });
  expect(sortedLines(stdout)).toEqual(world.working.filter((one) => one.startsWith('socks5')).sort());
  expect(code).toBe(0);
});

test('check also asks for a page of your own, and prints lines for clients', async () => {
  const ways = ['--format', 'url', '-q', '--url', world.page];
  const check = async (...args: string[]) => {
    const { stdout, code } = await cli(['check', ...ways, ...args], { env: world.env, stdin: list() });
    return [sortedLines(stdout), code] as const;
  };
  const clients = [...new Set(world.working.map((one) => one.replace(/^https/, 'http')))].sort();
  const [served] = await check('--contains', 'a page', '--without', 'captcha');
  expect([...new Set(served)]).toEqual(clients);
  expect(await check('--contains', 'a shop')).toEqual([[], 1]);
  expect(await check('--without', 'page')).toEqual([[], 1]);
  expect(await check('--expect', '204', '--expect', '404')).toEqual([[], 1]);
  const wrong = await cli(['check', '--url', 'ftp://a.example/'], { env: world.env, stdin: list() });
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('must be an http: or https: URL')]);
});

test('check names each line that is not a proxy, with number and reason, and no password', async () => {
  const lines = [
    '# a comment',
    world.working[0] ?? '',
    'rubbish',
    'ftp://8.8.8.8:80',
    '8.8.8.8:99999:user:topsecret',
    '',
    'http://me:topsecret@what_is_this:80',
    'http://me:top%0asecret@8.8.8.8:80',
    '203.0.113.9:80',
  ];
  // Half of the file has CRLF, and its end comes without a line break.
  const path = join(folder, 'mixed.txt');
  await writeFile(path, `${lines.slice(0, 4).join('\r\n')}\r\n${lines.slice(4).join('\n')}`);
  const { stderr } = await cli(['check', path, '-v'], { env: world.env });
  expect(stderr.split('\n').filter((line) => line.includes(path))).toEqual([
    `picpool: ${path}:3: rubbish has no port`,
    `picpool: ${path}:4: ftp:// is not a protocol of proxies`,
    `picpool: ${path}:5: 99999 is not a port`,
    `picpool: ${path}:7: what_is_this is neither an address nor a name`,
    `picpool: ${path}:8: what follows the port cannot be read, or the login cannot be sent`,
  ]);
  expect(stderr).not.toContain('topsecret');
});

test('check fails if no proxy works, if no judge answers, and without its list', async () => {
  const dead = await cli(['check'], { env: world.env, stdin: world.broken.slice(1).join('\n') });
  expect([dead.code, dead.stdout]).toEqual([1, '']);
  const unjudged = await cli(['check', '--judge', `${NOBODY}/`], { env: world.env, stdin: list() });
  expect(unjudged.code).toBe(1);
  expect(unjudged.stderr).toContain('No judge responds, so nothing can be tested.');
  const missing = await cli(['check', '/nowhere'], { env: world.env });
  expect([missing.code, missing.stderr]).toEqual([
    2,
    'picpool: There is no file /nowhere.\nSee picpool check --help.\n',
  ]);
});

test('a refresh is followed to its end; another program may follow the same', async () => {
  const both = await Promise.all([cli(['refresh'], { env }), cli(['refresh'], { env })]);
  for (const { code, stdout, stderr } of both) {
    expect([code, stdout]).toEqual([0, '9 of 13 alive, 1 list failed\n']);
    expect(stderr).toContain(`list ${world.failingList}: an HTML page instead of a list`);
  }
});

test('the export has what lives, filtered as asked', async () => {
  const all = await cli(['export', '--max-latency', '10s', '--max-age', '10m'], { env });
  expect([all.code, all.stderr]).toEqual([0, '']);
  expect(sortedLines(all.stdout)).toEqual([...world.working].sort());
  const some = await cli(['export', '--protocol', 'socks4', '--format', 'text'], { env });
  expect(some.stdout).toMatch(/^([\d.]+:\d+\n){2}$/);
  const none = await cli(['export', '--country', 'fr', '--exclude-country=FR'], { env });
  expect([none.code, none.stdout]).toEqual([0, '']);
  const narrow = [
    '--protocol=socks5,https',
    '--min-proof=tls',
    '--tampering=none',
    '--login=none',
    '--limit=3',
  ];
  const few = await cli(['export', ...narrow, '--format=url', '--remote-dns'], { env });
  expect(few.stdout).toMatch(/^((http|socks5h):\/\/[\d.]+:\d+\n){3}$/);
  const rest = await cli(['export', ...narrow, '--offset=3', '--min-score=0', '--unique=exit_ip'], { env });
  expect([rest.code, rest.stdout.split('\n').length]).toEqual([0, 3]);
});

test.each(['bun', 'deno'] as const)(
  'images are uploaded by %s, in order, and what fails fails alone',
  async (runtime) => {
    const picture = join(folder, `picture-${runtime}.jpg`);
    await writeFile(picture, await privatePhoto('jpeg'));
    const noPicture = join(folder, 'note.txt');
    await writeFile(noPicture, 'no picture');
    const password = join(folder, 'password');
    await writeFile(password, 'tea pot\n');
    const files = [picture, noPicture, '/nowhere.png', '-'];
    const { code, stdout, stderr } = await cli(
      ['upload', '--print', 'json', '--max-width=48', '--password-file', password, ...files],
      {
        runtime,
        env,
        stdin: new Blob([await photo(200, 100)]),
      },
    );
    expect(code).toBe(1);
    const [first, second] = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(first).toMatchObject({
      filename: `picture-${runtime}.jpg`,
      format: 'webp',
      width: 48,
      protected: true,
    });
    expect(second).toMatchObject({ filename: 'image', width: 48, height: 24 });
    expect((await fetch(first.raw_url, { headers: { 'x-image-password': 'tea pot' } })).status).toBe(200);
    const absent = await cli(['upload', '--password-file', '/nowhere', picture], { runtime, env });
    const why =
      'must name a file that can be read, but /nowhere cannot (ENOENT).\nSee picpool upload --help.';
    expect([absent.code, absent.stderr]).toEqual([2, `picpool: --password-file ${why}\n`]);
    expect(stderr).toContain(`picpool: ${noPicture}: The server refused (415): `);
    expect(stderr).toContain('picpool: /nowhere.png: There is no such file.\n');
    expect(stderr).toEndWith('2 files of 4 failed\n');
  },
);

test('upload prints the link that is asked for', async () => {
  const picture = join(folder, 'harbour.png');
  await writeFile(picture, await privatePhoto('png'));
  const [url, markdown] = await Promise.all([
    cli(['upload', '--keep-exif', '--format', 'jpg', picture], { env }),
    cli(['upload', '--print=markdown', '--filename', 'quay.png', picture], { env }),
  ]);
  const id = /^http:\/\/127\.0\.0\.1:\d+\/i\/(\w{12})\n$/.exec(url.stdout)?.[1];
  const info = await json(await fetch(`${server.url}/api/info/${id}`));
  expect(info).toMatchObject({ filename: 'harbour.png', format: 'jpeg', protected: false });
  expect(markdown.stdout).toMatch(/^!\[quay\.png\]\(http:\S+\.webp\)\n$/);
  const moving = join(folder, 'moving.gif');
  await writeFile(moving, await animation('gif'));
  const still = await cli(['upload', '--format', 'jpg', moving], { env });
  expect([still.code, still.stderr]).toEqual([
    0,
    `picpool: ${moving}: Only the first of 3 frames is kept in JPEG; format=webp keeps them all.\n`,
  ]);
  const misused = await cli(['upload', '--filename=x', picture, picture], { env });
  expect([misused.code, misused.stdout]).toEqual([2, '']);
});

test.each(['bun', 'deno'] as const)(
  'on %s, upload goes on when nobody hears what it says',
  async (runtime) => {
    const picture = join(folder, `unheard-${runtime}.jpg`);
    await writeFile(picture, await photo(40, 30));
    const command = cliCommand(['upload', '/nowhere', picture], runtime).map((word) => `'${word}'`);
    const script = `exec 3>&1; { ${command.join(' ')} 2>&1 >&3; echo "code $?" >&3; } | :`;
    const child = Bun.spawn(['sh', '-c', script], { stdout: 'pipe', env: cliEnvironment(env) });
    expect(await child.stdout.text()).toMatch(/^http:\S+\ncode 1\n$/);
  },
);

test('upload makes an album of what it uploads, and prints its link last and its token aside', async () => {
  const files = ['one.jpg', 'two.jpg'].map((name) => join(folder, name));
  for (const file of files) await writeFile(file, await photo(40, 30));
  const { code, stdout, stderr } = await cli(['upload', '--album', 'Harbour', ...files], { env });
  expect(code).toBe(0);
  const [one, two, album = ''] = stdout.trim().split('\n');
  const id = /\/a\/(\w{12})$/.exec(album)?.[1];
  expect(await json(await fetch(`${server.url}/api/albums/${id}`))).toMatchObject({
    title: 'Harbour',
    images: [{ url: one }, { url: two }],
  });
  expect(stderr).toMatch(/^Album token, to change or delete \S+: \w{32}\n/);
  expect(stderr).toContain(` ${album}: `);
  const [loop = '', empty = '', pipe = ''] = ['loop.jpg', 'empty.jpg', 'pipe.jpg'].map((name) =>
    join(folder, name),
  );
  await symlink(loop, loop);
  await writeFile(empty, '');
  const none = await cli(['upload', '--album', 'Empty', join(folder, 'caf\uFFFD.jpg'), loop, empty, folder], {
    env,
  });
  expect([none.code, none.stdout]).toEqual([1, '']);
  expect(none.stderr).not.toContain('Album token');
  expect(none.stderr).toContain(`${loop}: It cannot be read (ELOOP).`);
  expect(none.stderr).toContain('or its name is not UTF-8: send it as standard input, with --filename.');
  const refused = await cli(['upload', '--album', 'x'.repeat(1000), ...files], { env });
  expect(refused.stderr).toContain(`Not tried: ${files[1]}\n`);
  // Such as `<(command)` of a shell.
  Bun.spawnSync(['mkfifo', pipe]);
  const piped = cli(['upload', '--album', 'Piped', loop, pipe], { env });
  Bun.spawn(['sh', '-c', 'cat "$1" >"$0"', pipe, files[0] ?? '']);
  expect((await piped).stdout).toMatch(/\/i\/\w{12}\n\S+\/a\/\w{12}\n$/);
});

test('upload has the server fetch what is a URL', async () => {
  const site = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async ({ url }) =>
      url.endsWith('/quay.jpg') ? new Response(await photo(40, 30)) : new Response('no picture'),
  });
  try {
    const operands = [`${site.url}quay.jpg`, `${site.url}note.txt`];
    const { code, stdout, stderr } = await cli(['upload', '--print=json', '--max-width=20', ...operands], {
      env,
    });
    expect(JSON.parse(stdout)).toMatchObject({ filename: 'quay.jpg', width: 20 });
    expect([code, stderr]).toEqual([1, expect.stringContaining('note.txt: The server refused (415)')]);
  } finally {
    await site.stop(true);
  }
});

test('a cleanup tells what it removed', async () => {
  const { code, stdout } = await cli(['cleanup'], { env });
  expect([code, stdout]).toEqual([0, '0 images removed, 0 B freed\n']);
});

test('a server that is away is reported in a sentence', async () => {
  const away = await cli(['export', '--url', 'http://bob:s3cret@127.0.0.1:9']);
  expect([away.code, away.stderr]).toEqual([
    1,
    `picpool: http://***@127.0.0.1:9 does not respond (ECONNREFUSED). Is the server running? Use --url or PICPOOL_URL to name another one.\n`,
  ]);
  const noUrl = await cli(['cleanup', '--url', 'localhost:3000']);
  expect(noUrl.code).toBe(2);
});

test.each(['bun', 'deno'] as const)(
  'config on %s shows each current setting, and whether it is set',
  async (runtime) => {
    const cwd = await mkdtemp(join(folder, 'config-'));
    await writeFile(join(cwd, '.env'), 'PORT=4000\nIMAGE_RETENTION=30d\n');
    const given = {
      ADMIN_TOKEN: TOKEN,
      DATA_DIR: '/srv/data',
      METADATA_URL: 'redis://user:secret@db:6379',
      // Bun reads the file by itself.
      ...(runtime === 'deno' && { PORT: '4000' }),
    };
    const { code, stdout } = await cli(['config', '--json'], { runtime, cwd, env: given });
    const rows = new Map((JSON.parse(stdout) as { name: string }[]).map((row) => [row.name, row]));
    expect(code).toBe(0);
    expect(rows.get('PORT')).toMatchObject({ value: '4000', source: 'set' });
    expect(rows.get('HOST')).toMatchObject({ value: '0.0.0.0', source: 'default' });
    expect(rows.get('ADMIN_TOKEN')).toMatchObject({ value: '***', source: 'set' });
    expect(rows.get('METADATA_URL')).toMatchObject({ value: 'redis://***@db:6379', source: 'set' });
    expect(rows.get('BLOBS_URL')).toMatchObject({ value: 'file:/srv/data/images', source: 'default' });
    const faulty = await cli(['config'], { runtime, cwd, env: { PORT: 'x', HOST: '', IMAGE_WORKERS: '0' } });
    expect([faulty.code, faulty.stdout]).toEqual([2, '']);
    expect(faulty.stderr).toMatch(/^PORT must .*\nIMAGE_WORKERS must .*\n$/m);
  },
);

test('the lists are printed, and the doctor names those that fail or have moved', async () => {
  const lists = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    routes: {
      '/old.txt': () => Response.redirect('/new.txt', 301),
      '/new.txt': new Response('203.0.113.9 80\n'),
    },
    fetch: () => new Response('gone', { status: 404 }),
  });
  try {
    const [good, old, gone] = ['new', 'old', 'none'].map((name) => `${lists.url}${name}.txt`);
    const path = (url = '') => url.replace('http://', '');
    const settings = { PROXY_SOURCES: [good, old, gone].join(), PROXY_ALLOW_PRIVATE: 'true' };
    const printed = await cli(['sources'], { env: { ...settings, PROXY_SOURCES: [good, old].join() } });
    expect([printed.code, printed.stdout]).toEqual([0, `${path(good)}\t${good}\n${path(old)}\t${old}\n`]);
    const { stdout } = await cli(['doctor'], { env: { ...world.env, DATA_DIR: server.folder, ...settings } });
    const found = stdout.split('\n').filter((line) => line.includes('  proxy lists  '));
    expect(sortedLines(found.join('\n'))).toEqual([
      'ok    proxy lists        2 of 3 lists can be read, 2 entries',
      `warn  proxy lists        ${path(gone)}: answered 404`,
      `warn  proxy lists        ${path(old)}: has moved to ${good}`,
    ]);
  } finally {
    await lists.stop(true);
  }
});

test('the doctor finds no fault with a sound configuration', async () => {
  const { code, stdout } = await cli(['doctor'], {
    // Nothing but the data folder can be written.
    env: { ...world.env, DATA_DIR: server.folder, PORT: '0', HOST: '127.0.0.1', TMPDIR: '/nonexistent' },
  });
  expect(stdout).not.toContain('FAIL');
  for (const found of [
    '5 of 6 lists can be read',
    'a PNG became a WebP',
    'image store        file:',
    '13 proxies',
  ]) {
    expect(stdout).toContain(found);
  }
  expect(code).toBe(0);
});

test('the doctor says what is wrong and what to do', async () => {
  await writeFile(
    join(folder, 'nothing.txt'),
    'neither a folder nor a database, which would be longer than this',
  );
  const { code, stdout } = await cli(['doctor'], {
    cwd: folder,
    env: {
      ...world.env,
      HOST: '192.0.2.1',
      DATA_DIR: folder,
      METADATA_URL: `sqlite:${folder}/nothing.txt`,
      BLOBS_URL: `file:${folder}/nothing.txt/images`,
      PROXY_JUDGES: `${NOBODY}/`,
      PROXY_SOURCES: `${NOBODY}/list.txt`,
      IMAGE_MIN_FREE: '100000GiB',
    },
  });
  expect(code).toBe(1);
  for (const what of ['address', 'data folder', 'record store', 'image store', 'judges', 'proxy lists']) {
    expect(stdout).toMatch(new RegExp(`^FAIL  ${what} .*\\n {25}\\S`, 'm'));
  }
});

test('version and help appear quickly, and every command has its own help', async () => {
  const [version, help] = await Promise.all([cli(['--version']), cli(['--help'])]);
  expect(version).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), stderr: '' });
  const names = [...help.stdout.matchAll(/^ {2}(\w+) {2,}\w/gm)].map(([, name = '']) => name);
  expect(names).toContain('doctor');
  const helps = await Promise.all(names.map((name) => cli([name, '--help'], { env: { PORT: 'x' } })));
  for (const [index, { code, stdout, stderr }] of helps.entries()) {
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toStartWith(`Usage: picpool ${names[index]} [options]`);
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(112);
  }
  const unknown = await cli(['uplaod']);
  expect([unknown.code, unknown.stdout, unknown.stderr]).toEqual([
    2,
    '',
    'picpool: Unknown command "uplaod". Did you mean upload?\nSee picpool --help.\n',
  ]);
  const misspelled = await cli(['--verison']);
  expect([misspelled.code, misspelled.stderr]).toEqual([
    2,
    'picpool: Unknown option --verison. Did you mean --version?\nSee picpool --help.\n',
  ]);
});

test.each([
  ['config', 'deno'],
  ['upload test/fixtures/grey-narrow.avif none', 'bun'],
  ['export --format csv', 'bun'],
  ['check --quiet', 'bun'],
] as const)(
  'output of %s that cannot be written on %s is told once, as what it is, and ends it',
  async (words, runtime) => {
    const child = Bun.spawn(cliCommand(words.split(' '), runtime), {
      stdin: 'pipe',
      stdout: Bun.file('/dev/full'),
      stderr: 'pipe',
      env: cliEnvironment({ ...world.env, ...env }),
    });
    // A list that has not ended.
    child.stdin.write(`${world.working[0]}\n`);
    child.stdin.flush();
    expect(await child.stderr.text()).toBe('picpool: The output cannot be written (ENOSPC).\n');
    expect(await child.exited).toBe(1);
  },
);

test('a misspelt setting is named when the server starts', () =>
  withFolder(async (folder) => {
    const file = join(folder, 'log');
    const env = { ADMIN_TOKN: 'a-token-of-the-administrator', SERVICES: 'image', IMAGE_WORKERS: '1' };
    const server = await startServer('bun', env, join(folder, 'data'), logInto(file));
    try {
      const named = 'ADMIN_TOKN is not a setting. Did you mean ADMIN_TOKEN?';
      await until(async () => (await readFile(file, 'utf8')).includes(named));
    } finally {
      await server.stop();
    }
  }));
