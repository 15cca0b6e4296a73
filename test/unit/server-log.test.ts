import { afterAll, expect, test } from 'bun:test';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CommandError, EXIT } from '../../src/cli/exit.ts';
import { readServerLogs } from '../../src/cli/server-log.ts';

const path = join(tmpdir(), `picpool-log-${process.pid}`);
const SINCE = '2026-02-01T08:00:00.000Z';
afterAll(() => rm(path, { force: true }));

async function told(...lines: string[]) {
  await writeFile(path, lines.join('\n'));
  const { removed, blocks, hidden, revoked } = await readServerLogs([path], SINCE);
  const named = revoked.size > 0 && { revoked: [...revoked.values()] };
  const found = {
    removed: [...removed],
    blocks: [...blocks.values()].map(({ time, ...rest }) => rest),
    hidden: hidden.size,
  };
  return { ...found, ...named };
}

const line = (message: string, facts: object) =>
  JSON.stringify({ time: '2026-02-01T08:05:00.000Z', level: 'info', message, ...facts });
const HASH = 'a'.repeat(64);

test('a log tells what was removed, also as Kubernetes keeps it', async () => {
  const kept = `2026-02-01T08:05:00.1Z stdout F ${line('image removed', { id: 'bbbbbbbbbbbb' })}`;
  expect(await told(line('image removed', { id: 'aaaaaaaaaaaa' }), kept)).toEqual({
    removed: ['aaaaaaaaaaaa', 'bbbbbbbbbbbb'],
    blocks: [],
    hidden: 0,
  });
});

let acts = 0;
const act = (what: string, subject: string, facts: object = {}) =>
  JSON.stringify({ id: `a-${++acts}`, time: '2026-02-01T08:05:00.000Z', what, subject, ...facts });

test('the audit log tells the same', async () => {
  const found = await told(
    act('image.delete', 'image aaaaaaaaaaaa', { who: 'uploader' }),
    act('review.block', 'image bbbbbbbbbbbb'),
    act('report.decide', 'image cccccccccccc', { verdict: 'delete' }),
    act('report.decide', 'image dddddddddddd', { verdict: 'keep' }),
    act('review.allow', 'image eeeeeeeeeeee'),
    act('image.delete', 'image ../../etc/passwd'),
    act('block.add', `hash ${HASH}`, { why: 'spam' }).replace('08:05', '08:06'),
    act('block.add', 'network 192.0.2.0/24'),
    act('block.remove', 'network 192.0.2.0/24'),
    act('block.add', 'network 9d7c5b1e2f3a'),
    act('block.add', 'constructor x'),
    act('token.revoke', 'token laptop'),
    act('token.revoke', 'token my old phone'),
  );
  expect(found).toEqual({
    removed: ['aaaaaaaaaaaa', 'bbbbbbbbbbbb', 'cccccccccccc'],
    blocks: [
      { block: { network: '192.0.2.0/24' }, reason: null },
      { block: { hash: HASH }, reason: 'spam' },
    ],
    hidden: 2,
    revoked: ['laptop', 'my old phone'],
  });
});

test('a log of warnings alone does not count, because it tells nothing', async () => {
  const warning = line('image removed', { id: 'aaaaaaaaaaaa' }).replace('info', 'warn');
  await expect(told(warning)).rejects.toThrow(
    'has no line of a server with LOG_FORMAT=json and LOG_LEVEL=info',
  );
});

test('an act that was refused is not repeated, unless what it was to remove had gone', async () => {
  const found = await told(
    act('image.delete', 'image aaaaaaaaaaaa', { id: 'a' }),
    act('refused', 'image aaaaaaaaaaaa', { of: 'a', why: 'not_found' }),
    act('review.block', 'image bbbbbbbbbbbb', { id: 'c' }),
    act('refused', 'image bbbbbbbbbbbb', { of: 'c', why: 'not_found' }),
    act('refused', `hash ${HASH}`, { of: 'b', why: 'conflict' }),
    act('block.add', `hash ${HASH}`, { id: 'b' }),
  );
  expect(found).toEqual({ removed: ['aaaaaaaaaaaa'], blocks: [], hidden: 0 });
});

test('a line that was told late changes nothing about what came after it', async () => {
  const at = (minute: string) => ({ time: `2026-02-01T08:${minute}:00.000Z` });
  const { blocks } = await told(
    act('block.remove', `hash ${HASH}`, at('06')),
    act('block.add', `hash ${HASH}`, at('05')),
    act('block.add', 'network 192.0.2.0/24', at('05')),
    line('block removed', { peer: '192.0.2.0/24', ...at('06') }),
  );
  expect(blocks.map(({ reason }) => reason)).toEqual([null, null]);
});

test('an album that a moderator deleted is told as such', async () => {
  await writeFile(path, act('album.delete', 'album aaaaaaaaaaaa'));
  const { albums, removed } = await readServerLogs([path], SINCE);
  expect([[...albums], [...removed]]).toEqual([['aaaaaaaaaaaa'], []]);
});

test('of a block, the last line counts', async () => {
  const network = { peer: '192.0.2.0/24' };
  const { blocks } = await told(
    line('block added', { hash: HASH, reason: 'spam' }),
    line('block added', network),
    line('block removed', network),
  );
  expect(blocks).toEqual([
    { block: { hash: HASH }, reason: 'spam' },
    { block: { network: '192.0.2.0/24' }, reason: null },
  ]);
});

test('what a client can write into a log removes and blocks nothing', async () => {
  const forged = line('image removed', { id: 'aaaaaaaaaaaa' });
  const found = await told(
    line('request', { path: `/i/${forged}` }),
    `08:05:00 info  request path=/i/ ${forged}`,
    `2026-02-01T08:05:00.1Z stdout P ${forged}`,
    line('image removed', { id: '../../etc/passwd' }),
    line('block added', { peer: '9d7c5b1e2f3a no network', hash: 'short' }),
    `{"time":"${'['.repeat(50_000)}","message":"image removed"}`,
    forged.slice(0, -3),
  );
  expect(found).toEqual({ removed: [], blocks: [], hidden: 2 });
});

test('of blocks whose network is hidden, nothing is repeated and each is counted once, whatever logs it is in', async () => {
  const lines = [line('block added', { peer: 'abcdef012345' }), line('block added', { reason: 'spam' })];
  const found = await told(...lines, ...lines);
  expect(found).toEqual({ removed: [], blocks: [], hidden: 2 });
});

test('what happened before the backup is skipped', async () => {
  const old = {
    ...JSON.parse(line('image removed', { id: 'aaaaaaaaaaaa' })),
    time: '2026-02-01T07:59:59.999Z',
  };
  const recent = line('image removed', { id: 'bbbbbbbbbbbb' });
  expect((await told(JSON.stringify(old), recent)).removed).toEqual(['bbbbbbbbbbbb']);
  // The clock was set back in between.
  expect((await told(recent, JSON.stringify(old))).removed).toEqual(['bbbbbbbbbbbb', 'aaaaaaaaaaaa']);
  // It may also have been set back before the log began: nobody may believe that this was repeated.
  await expect(told(JSON.stringify(old))).rejects.toThrow('before the backup');
});

test('a file without any line of a server is refused, and the times of others are told', async () => {
  for (const text of [
    '',
    '08:05:00 info  image removed id=aaaaaaaaaaaa',
    '\u001f\u008b\u0008',
    '{"time":1}',
  ]) {
    await writeFile(path, text);
    const outcome = await readServerLogs([path], SINCE).catch((error: CommandError) => error.exitCode);
    expect(outcome).toBe(EXIT.usage);
  }
  await writeFile(path, `${line('started', {})}\n${line('stopping', {}).replace('08:05', '09:10')}`);
  expect(await readServerLogs([path], SINCE)).toMatchObject({
    first: '2026-02-01T08:05:00.000Z',
    last: '2026-02-01T09:10:00.000Z',
  });
});
