import { expect, test } from 'bun:test';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CHECK_FORMATS, createResultWriter, csvHeader } from '../../src/cli/check.ts';
import { misspelled } from '../../src/cli/config.ts';
import { createProgress } from '../../src/cli/progress.ts';
import { settingsIn } from '../../src/cli/run.ts';
import { endingSignals } from '../../src/cli/signals.ts';
import { createTerminal, type Stream } from '../../src/cli/terminal.ts';
import { parseConfig } from '../../src/config.ts';
import { countOf, formatCount, formatSpan } from '../../src/lib/format.ts';
import { masked } from '../../src/lib/masked.ts';
import { withFolder } from '../support/temporary.ts';

function stream(isTTY: boolean, columns: number, fault?: string): Stream & { text: string } {
  return {
    isTTY,
    columns,
    text: '',
    write(piece, done) {
      this.text += piece;
      done(fault === undefined ? null : Object.assign(new Error(fault), { code: fault }));
    },
    on: () => {},
  };
}

interface Conditions {
  tty?: boolean;
  columns?: number;
  /** With which writing to standard output fails. */
  fault?: string;
  /** With which writing to standard error fails. */
  unheard?: string;
  env?: Record<string, string>;
}

function open({ tty = false, columns = 100, fault, unheard, env = {} }: Conditions = {}) {
  const [stdout, stderr] = [stream(tty, columns, fault), stream(tty, columns, unheard)];
  return { terminal: createTerminal({ stdout, stderr, env }), stdout, stderr };
}

test('data and messages go to different streams', async () => {
  const { terminal, stdout, stderr } = open();
  terminal.say('reading');
  await Promise.all([terminal.print('one\n'), terminal.print('two\n')]);
  expect([stdout.text, stderr.text]).toEqual(['one\ntwo\n', 'reading\n']);
});

test('progress shows counts, share, rate and time left, and makes room for lines', () => {
  const { terminal, stderr } = open({ tty: true });
  let now = 0;
  const progress = createProgress(terminal, 'checked', () => now);
  now = 10_000;
  progress.update({ done: 1000, total: 4000, note: '37 alive' });
  expect(stderr.text).toBe('\r\u001b[K1,000 of 4,000 checked (25 %), 100/s, 0:30 left, 37 alive');
  terminal.say('a word');
  expect(stderr.text).toEndWith('\r\u001b[Ka word\n');
});

test('no line is longer than a narrow terminal', () => {
  const { terminal, stderr } = open({ tty: true, columns: 40 });
  terminal.status('2,000 checked, and more than there is room for');
  expect(stderr.text).toBe('\r\u001b[K2,000 checked, and more than there is r');
});

test('without a terminal, a line is written every two seconds', () => {
  const { terminal, stderr } = open();
  let now = 0;
  const progress = createProgress(terminal, 'checked', () => now);
  for (now = 100; now <= 5000; now += 100) progress.update({ done: now, total: 10_000, estimated: true });
  expect(stderr.text.split('\n')).toEqual([
    '2,000 of about 10,000 checked (20 %), 1,000/s, 0:08 left',
    '4,000 of about 10,000 checked (40 %), 1,000/s, 0:06 left',
    '',
  ]);
});

test('an unknown total is left out', () => {
  const { terminal, stderr } = open();
  let now = 0;
  const progress = createProgress(terminal, 'checked', () => now);
  now = 4000;
  progress.update({ done: 2, note: 'none alive' });
  expect(stderr.text).toBe('2 checked, 0.5/s, none alive\n');
});

test('a terminal that cannot move its cursor gets lines', () => {
  expect(open({ tty: true, env: { TERM: 'dumb' } }).terminal.live).toBe(false);
});

test('data steers no terminal, and goes to a pipe as it is', async () => {
  for (const [tty, shown] of [
    [true, '?]0;x? 1\t2\n'],
    [false, '\u001b]0;x\u0007 1\t2\n'],
  ] as const) {
    const { terminal, stdout } = open({ tty });
    await terminal.print('\u001b]0;x\u0007 1\t2\n');
    expect(stdout.text).toBe(shown);
  }
});

test('a closed terminal asks for an orderly end, unless nohup has it ignored or nobody can tell', () =>
  withFolder(async (folder) => {
    const file = join(folder, 'status');
    for (const [status, hears] of [
      ['SigIgn:\t0000000001001000\n', true],
      ['SigIgn:\t0000000001001001\n', false],
      ['', false],
    ] as const) {
      await writeFile(file, status);
      expect(endingSignals(file).includes('SIGHUP')).toBe(hears);
    }
    expect(endingSignals(join(folder, 'none'))).toEqual(['SIGTERM', 'SIGINT']);
  }));

test('a closed pipe is distinguished from a full disk', async () => {
  for (const [fault, unread] of [
    ['EPIPE', true],
    ['ENOSPC', false],
  ] as const) {
    const message = `The output cannot be written (${fault}).`;
    await expect(open({ fault }).terminal.print('x\n')).rejects.toMatchObject({ message, unread });
  }
});

test('what a file or a server is called steers no terminal, and its password is not shown', () => {
  const { terminal, stderr } = open();
  terminal.say('picpool: \u001b[2J\u009b1mcat.png\r: refused\n\tSee below.');
  expect(stderr.text).toBe('picpool: ?[2J?1mcat.png?: refused\n\tSee below.\n');
  terminal.say('See "bob:s3cret@host", redis:/bob:s//cret@host or cat@2x.png: http://bob@x:s3cret@host/a@b.');
  expect(stderr.text).toEndWith('See "***@host", ***@host or cat@2x.png: http://***@b.\n');
  terminal.say("at (file:///a@1/b@2.js:3) 'http://u:p@h/'");
  expect(stderr.text).toEndWith("at (file:///a@1/b@2.js:3) 'http://***@h/'\n");
});

test('what nobody hears stops nothing', async () => {
  const { terminal, stdout } = open({ unheard: 'EPIPE' });
  terminal.say('a word');
  await terminal.print('data\n');
  await terminal.flush();
  expect(stdout.text).toBe('data\n');
});

test('numbers and times are written for people', () => {
  expect([0, 999, 1000, 1234567].map(formatCount)).toEqual(['0', '999', '1,000', '1,234,567']);
  expect([countOf(1, 'proxy', 'proxies'), countOf(2, 'proxy', 'proxies'), countOf(0, 'list')]).toEqual([
    '1 proxy',
    '2 proxies',
    '0 lists',
  ]);
  expect([400, 65_000, 3_723_000].map(formatSpan)).toEqual(['0:00', '1:05', '1:02:03']);
});

test.each([
  ['ADMIN_TOKEN', 'abc', '***'],
  ['AWS_SECRET_ACCESS_KEY', 'abc', '***'],
  ['WEBHOOK_SECRET', 'abc', '***'],
  ['METADATA_URL', 'rediss://user:pa:ss@db:6379/1', 'rediss://***@db:6379/1'],
  ['METADATA_URL', 'postgres://u:p@TAILss@127.0.0.1,db:1/x', 'postgres://***@127.0.0.1,db:1/x'],
  ['METADATA_URL', 'redis://:a/b?c#d@db:6379', 'redis://***@db:6379'],
  ['LIMITS_URL', 'redis://:p,a@ss,word@one,two?sentinel=x', 'redis://***@one,two?sentinel=x'],
  ['PROXY_SOURCES', 'https://a.example/@user,file:/a@b', 'https://a.example/@user,file:/a@b'],
  ['PROXY_SOURCES', 'https://a/?api_key=abc&x=1,https://u:p@b/', 'https://a/?api_key=***&x=1,https://***@b/'],
  ['PROXY_SOURCES', 'https://a/x, https://u:hunter2@b/y', 'https://a/x, https://***@b/y'],
  ['PROXY_TARGETS', 'a=https://a/, b=https://u:p@b/', 'a=https://a/, b=https://***@b/'],
  ['PROXY_TARGETS', 'a=https://a/x, b=u:p@h', 'a=https://a/x,***@h'],
  ['WEBHOOK_URLS', 'https://hooks.example/T01/xyz,https://b/', 'https://hooks.example/***, https://b/***'],
  ['BLOBS_URL', 's3://bucket?endpoint=https://s3&region=eu', 's3://bucket?endpoint=https://s3&region=eu'],
  ['BLOBS_URL', 's3://bucket?endpoint=https://me:se@cret@s3', 's3://bucket?endpoint=https://***@s3'],
  ['PROXY_SOURCES', 'https://a/?proxy=http%3A%2F%2Fu%3Apw%40h%2F', 'https://a/?proxy=http%3A%2F%2F***@h%2F'],
  ['PICPOOL_URL', 'http://u:p/q@h/x', 'http://***@h/x'],
  ['PICPOOL_URL', 'http://u:p q@h:1/a@b', 'http://***@b'],
  ['PROXY_SOURCES', 'http://u:12/x@h', 'http://***@h'],
  ['PROXY_SOURCES', 'http://u:p@ss/w@h,https://b/@c', 'http://***@h,https://b/@c'],
  ['PICPOOL_URL', 'http://u:p@s.s?w#@h/', 'http://***@h/'],
  ['PROXY_SOURCES', 'http://u:p%40h', 'http://***@h'],
  ['PROXY_SOURCES', 'http://a:80/@b/c,http://u:1?x@h', 'http://a:80/@b/c,http://***@h'],
  ...[
    ...['sqlite:/a:b@c', '/a:b@c', 'cat@2x.png:1', 'abuse@a.example'],
    ...['https://a.example:8443/x@1.2/y', 'http://[::1]:80/x@y', 'http://localhost:80?x=a@b'],
  ].map((path) => ['URL', path, path] as const),
  ...['postgres:u:p@h', 'u:p@h', 'u@x:p@h', 'http:/u:p@h', 'http//u:p@h', 'u:p//p@h', 'redis:p@h'].map(
    (misspelt) => ['URL', misspelt, '***@h'] as const,
  ),
] as const)('a secret in %s=%s is masked', (name, given, shown) => expect(masked(name, given)).toBe(shown));

test('settings in a file are read as systemd reads them, and so are those that the documents show', async () => {
  const text = '# a=1\n;b=2\nC=pa#ss word\nD=#1 \r\nE="x # y" # z\nF=plain\n';
  expect(settingsIn(text)).toMatchObject({ C: 'pa#ss word', D: '#1', E: 'x # y', F: 'plain' });
  expect(settingsIn(text)).not.toHaveProperty('a');
  expect(settingsIn('\ufeffC=pa#ss')).toEqual({ C: 'pa#ss' });
  const twice = 'P=30001\nT=a-token\nU=old.db-2025\n# moved\nU=old.db\nP=3000\nT=\n';
  expect(settingsIn(twice)).toEqual({ P: '3000', T: '', U: 'old.db' });
  const [, shown = ''] = /```env\n([^`]*)/.exec(await readFile('docs/public.md', 'utf8')) ?? [];
  const { AUDIT_LOG } = parseConfig(settingsIn(shown.replaceAll('...', 'a-secret-of-16-or-more')));
  expect(AUDIT_LOG).toBe('/var/log/picpool/acts.jsonl');
});

test('a misspelt variable is reported, those of other programs are not', () => {
  expect(misspelled({ IMAGE_MAX_UPLOADS: '1', IMAGE_TAG: 'x', PROXY_JUDGES: 'y', LANG: 'z' })).toEqual([
    'IMAGE_MAX_UPLOADS is not a setting. Did you mean IMAGE_MAX_UPLOAD?',
  ]);
  expect(misspelled({ ADMIN_TOKEN_FILE: '/run/secrets/admin', ADMIN_TOKEN_FIL: 'x' })).toEqual([
    'ADMIN_TOKEN_FIL is not a setting. Did you mean ADMIN_TOKEN_FILE?',
  ]);
  expect(
    misspelled({ UPLOADS: 'token', LOGLEVEL: 'warn', HOSTNAME: 'x', TERM: 'y', http_proxy: 'z' }),
  ).toEqual([
    'UPLOADS is not a setting. Did you mean UPLOAD?',
    'LOGLEVEL is not a setting. Did you mean LOG_LEVEL?',
  ]);
});

const ALIVE = {
  verdict: 'alive' as const,
  connectMs: 1,
  firstByteMs: 2,
  totalMs: 3.4,
  exitIp: '10.0.0.1',
  anonymity: 'elite' as const,
  tampering: ['x-"odd"', 'via'],
  proof: 'signed' as const,
};

test('cells that would break a CSV file are quoted', async () => {
  const write = await createResultWriter('csv', undefined);
  const row = write({ protocol: 'http', ip: '10.0.0.2', port: 80 }, ALIVE);
  expect(csvHeader).toBe('protocol,ip,port,country,response_time,anonymity,exit_ip,tampering,proof,login\n');
  expect(row).toBe('http,10.0.0.2,80,ZZ,3,elite,10.0.0.1,"x-""odd"" via",signed,\n');
});

test('a working proxy is printed with its login', async () => {
  const proxy = { protocol: 'http', ip: '203.0.113.9', port: 80, login: 'me:a:b' } as const;
  const written = async (format: (typeof CHECK_FORMATS)[number]) =>
    (await createResultWriter(format, undefined))(proxy, ALIVE);
  expect(await written('standard')).toBe('http://me:a%3Ab@203.0.113.9:80\n');
  expect(await written('text')).toBe('203.0.113.9:80:me:a:b\n');
  expect(JSON.parse(await written('json'))).toMatchObject({ login: 'me:a:b' });
  expect(await written('csv')).toEndWith(',me:a:b\n');
});
