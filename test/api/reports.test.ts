import { afterAll, beforeAll, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { createLocalLocks } from '../../adapters/local/locks.ts';
import { createLocalRateLimiter } from '../../adapters/local/rate-limiter.ts';
import { createSqliteAudit } from '../../adapters/sqlite/audit.ts';
import { openDatabase } from '../../adapters/sqlite/database.ts';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import { createCases } from '../../src/admin/cases.ts';
import type { Act, Audit, Logged } from '../../src/audit/audit.ts';
import { DONE } from '../../src/audit/store.ts';
import { AppError, inEnglish } from '../../src/errors.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { sha256 } from '../../src/lib/secret.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { ADMIN, ADMIN_TOKEN, adminBrowser } from '../support/admin.ts';
import { asJson } from '../support/json.ts';
import { type RunningServer, runServer } from '../support/servers/running-server.ts';
import { testAudit } from '../support/stores/audit.ts';
import { memoryDatabase } from '../support/stores/memory.ts';

let server: RunningServer;
/** The operator's webhook. */
let hook: ReturnType<typeof Bun.serve>;
const told: { type: string; data: object }[] = [];
beforeAll(async () => {
  hook = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      told.push((await request.json()) as (typeof told)[number]);
      return new Response();
    },
  });
  server = await runServer({
    ...{ ADMIN_TOKEN, SERVICES: 'image', PROXY_ALLOW_PRIVATE: 'true' },
    WEBHOOK_URLS: `http://127.0.0.1:${hook.port}/`,
    WEBHOOK_SECRET: 'a-secret-of-the-webhook',
  });
});
afterAll(async () => {
  await server.stop();
  await hook.stop(true);
});

interface Uploaded {
  id: string;
  delete_token: string;
}
const upload = async () => (await (await server.upload('', '203.0.113.7')).json()) as Uploaded;
const report = (body: object, from = '192.0.2.7') =>
  server.send('/api/reports', { ...asJson('POST', body), from });
const receiptOf = async (answer: Response) => ((await answer.json()) as { receipt: string }).receipt;
const stateOf = async (receipt: string) => {
  const answer = await server.send(`/api/reports/${receipt}`);
  return answer.status === 200 ? ((await answer.json()) as { state: string }).state : answer.status;
};

/** Decides over the API. */
const verdict = ({ id }: Uploaded, verdict: string, more = {}) =>
  server.post('/api/admin/reports', { subject: `image ${id}`, verdict, ...more }, ADMIN);

/** Logs in, and returns how to read and send the pages. */
async function moderator() {
  const visitor = adminBrowser(server);
  await visitor.login(ADMIN_TOKEN);
  const form = await visitor.form();
  return {
    page: async () => (await visitor.get('/admin/reports')).text(),
    decide: (fields: Record<string, string>) => visitor.post('/admin/reports', { form, ...fields }),
  };
}

const deletePage = async ({ id, delete_token }: Uploaded) =>
  (await server.send(`/i/${id}/delete?token=${delete_token}`, { headers: { accept: 'text/html' } })).text();

test('a report becomes one case, whose decision each reporter and the uploader can read', async () => {
  const image = await upload();
  const first = await receiptOf(
    await report({ image: image.id, reason: 'privacy', text: 'That is me.', contact: 'me@example.org' }),
  );
  const second = await receiptOf(await report({ image: image.id, reason: 'spam' }, '192.0.2.8'));
  expect([await stateOf(first), await stateOf(second)]).toEqual(['open', 'open']);
  const { page, decide } = await moderator();
  const shown = await page();
  for (const text of ['2 reports', 'That is me.', 'me@example.org', `/admin/picture/${image.id}`])
    expect(shown).toContain(text);
  await decide({
    subject: `image ${image.id}`,
    verdict: 'delete',
    reason: 'privacy',
    statement: 'The person did not agree.',
  });
  expect([await stateOf(first), await stateOf(second)]).toEqual(['delete', 'delete']);
  expect((await server.send(`/i/${image.id}`)).status).toBe(404);
  expect(await page()).toContain('There is nothing here.');
  const told = await deletePage(image);
  expect(told).toContain('The person did not agree.');
  for (const secret of ['me@example.org', 'That is me.', '192.0.2.7']) expect(told).not.toContain(secret);
  expect(await deletePage({ ...image, delete_token: 'x'.repeat(22) })).not.toContain('did not agree');
});

test('reports are listed and decided over the API, and the uploader reads the statement', async () => {
  const [kept, deleted] = [await upload(), await upload()];
  const receipts = [];
  for (const { id } of [kept, deleted])
    receipts.push(await receiptOf(await report({ image: id, reason: 'copyright', text: 'Mine.' })));
  const listed = await server.send('/api/admin/reports', { headers: ADMIN });
  const { cases } = (await listed.json()) as { cases: { subject: string; count: number }[] };
  expect(cases).toContainEqual(expect.objectContaining({ subject: `image ${kept.id}`, count: 1 }));
  expect((await verdict(kept, 'keep')).status).toBe(200);
  const told = { reason: 'copyright', statement: 'The owner has shown a contract.' };
  expect((await verdict(deleted, 'delete', told)).status).toBe(200);
  expect((await verdict(deleted, 'delete', told)).status).toBe(404);
  expect(await Promise.all(receipts.map(stateOf))).toEqual(['keep', 'delete']);
  expect((await server.send(`/i/${kept.id}`)).status).toBe(200);
  expect((await server.send(`/i/${deleted.id}`)).status).toBe(404);
  expect(await deletePage(deleted)).toContain('The owner has shown a contract.');
});

test('of two who decide at once, one does, and the reporter reads what was done', async () => {
  for (let n = 0; n < 8; n++) {
    const image = await upload();
    const receipt = await receiptOf(await report({ image: image.id, reason: 'spam' }, `192.0.2.${40 + n}`));
    const answers = await Promise.all([verdict(image, 'delete'), verdict(image, 'keep')]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404]);
    const isGone = (await server.send(`/i/${image.id}`)).status === 404;
    expect([n, await stateOf(receipt)]).toEqual([n, isGone ? 'delete' : 'keep']);
  }
});

test('a page says that another moderator was faster, and has decided otherwise', async () => {
  const { decide } = await moderator();
  const decided: unknown[] = [];
  for (const first of ['keep', 'delete']) {
    for (const verdict of ['keep', 'delete']) {
      const image = await upload();
      const subject = `image ${image.id}`;
      await report({ image: image.id, reason: 'spam' }, '192.0.2.60');
      await decide({ subject, verdict: first });
      // Its owner may delete it as well.
      if (verdict === first)
        await server.send(`/api/delete/${image.id}?token=${image.delete_token}`, { method: 'DELETE' });
      const answer = await decide({ subject, verdict });
      decided.push(answer.status, (await answer.text()).includes('Somebody has decided otherwise.'));
    }
  }
  expect(decided).toEqual([303, false, 409, true, 409, true, 303, false]);
});

test('a report that a moderator has not seen stays open when the picture is kept, not when it is deleted', async () => {
  const image = await upload();
  const { page, decide } = await moderator();
  const send = async (host: number) =>
    receiptOf(await report({ image: image.id, reason: 'spam' }, `192.0.2.${host}`));
  const lastIn = (shown: string) => /name="last" value="(\w+)"/.exec(shown)?.[1] ?? '';
  const receipts = [await send(70)];
  const last = lastIn(await page());
  receipts.push(await send(71), await send(70));
  // The second time as from another tab.
  for (const _tab of [1, 2]) await decide({ subject: `image ${image.id}`, verdict: 'keep', last });
  expect(await Promise.all(receipts.map(stateOf))).toEqual(['keep', 'open', 'open']);
  const { cases } = (await (await server.send('/api/admin/reports', { headers: ADMIN })).json()) as {
    cases: { last: string }[];
  };
  receipts.push(await send(73));
  expect((await verdict(image, 'keep', { last: cases.at(-1)?.last })).status).toBe(200);
  expect(await Promise.all(receipts.map(stateOf))).toEqual(['keep', 'keep', 'keep', 'open']);
  receipts.push(await send(74));
  expect((await server.send(`/api/info/${image.id}`)).status).toBe(200);
  const shown = await page();
  expect(shown.match(/<li><b>/g)).toHaveLength(2);
  receipts.push(await send(72));
  await decide({ subject: `image ${image.id}`, verdict: 'delete', last: lastIn(shown) });
  const states = await Promise.all(receipts.map(stateOf));
  expect(states).toEqual(['keep', 'keep', 'keep', 'delete', 'delete', 'delete']);
});

test('the uploader answers once', async () => {
  const image = await upload();
  await report({ image: image.id, reason: 'spam' }, '192.0.2.20');
  const { decide } = await moderator();
  await decide({ subject: `image ${image.id}`, verdict: 'delete', reason: 'spam', statement: '' });
  const answer = (text: string, token = image.delete_token, id = image.id) =>
    server.send(`/i/${id}/answer`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token, answer: text }).toString(),
    });
  expect((await answer('No.', 'x'.repeat(22))).status).toBe(404);
  for (const id of [image.id, '%0D%0A', '%E7%8C%AB', '%FF'])
    expect((await answer(' ', '', id)).status).toBe(303);
  expect((await answer('It is not.')).status).toBe(303);
  expect((await answer('Really.')).status).toBe(409);
  expect(await deletePage(image)).toContain('Your answer is recorded.');
  const log = await (await server.send('/api/admin/log?limit=3', { headers: ADMIN })).text();
  expect(log).toContain('"why":"It is not."');
  expect(log).not.toContain('Really.');
});

test('an uploader whose address was blocked reads why, and answers', async () => {
  const image = await upload();
  const from = '203.0.113.7';
  await report({ image: image.id, reason: 'spam' }, '192.0.2.25');
  const { decide } = await moderator();
  await decide({ subject: `image ${image.id}`, verdict: 'delete', reason: 'spam', statement: '' });
  const network = { network: from };
  expect((await server.post('/api/admin/blocks', network, ADMIN)).status).toBe(200);
  const body = new URLSearchParams({ token: image.delete_token, answer: 'It is not.' }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const answered = await server.send(`/i/${image.id}/answer`, { method: 'POST', headers, body, from });
  await server.send(`/api/admin/blocks?network=${from}`, { method: 'DELETE', headers: ADMIN });
  expect(answered.status).toBe(303);
});

test('a decision in the log does not keep owners from a picture that is there, and nobody is told of one that was refused', async () => {
  const image = await upload();
  const database = await openDatabase(bunRuntime.openSqlite, `${server.folder}/picpool.db`);
  // As after the restore of a backup from before, or of two moderators of whom the other was first.
  const details = { statement: 'Bad.', tokenHash: sha256(image.delete_token) };
  const text = JSON.stringify({ what: 'review.block', who: 'mod', details });
  const entry = { id: 'b', at: Date.now(), day: 0, subject: `image ${image.id}`, text };
  const audit = createSqliteAudit(database);
  await audit.append(entry, DONE);
  expect(await deletePage(image)).toContain('Delete this picture?');
  const refused = JSON.stringify({ what: 'refused', who: 'server', details: { of: 'b' } });
  await audit.append({ ...entry, id: 'c', text: refused }, DONE);
  database.close();
  const headers = { 'x-delete-token': image.delete_token };
  expect((await server.send(`/api/delete/${image.id}`, { method: 'DELETE', headers })).status).toBe(200);
  expect(await deletePage(image)).not.toContain('Bad.');
});

/** Cases over a database in memory. `around`: what stands between them and the parts that they use. */
async function casesWith(around: (parts: Pick<CasesOptions, 'state'> & { audit: Audit }) => object) {
  const database = await memoryDatabase();
  const [state, locks] = [createSqliteState(database), createLocalLocks()];
  const audit = testAudit(database, { state, locks, now: Date.now });
  const limiter = createLocalRateLimiter();
  const parts = { state, audit, limiter, ...around({ state, audit }) };
  return createCases({ ...parts, locks, clock: systemClock, random: randomBytes, onOpened() {} });
}
type CasesOptions = Parameters<typeof createCases>[0];

const SUBJECT = 'image aaaaaaaaaaaa';
const one = { reason: 'spam', text: '', contact: '' } as const;
const kept = { subject: SUBJECT, verdict: 'keep', by: { who: 'mod', peer: '192.0.2.3' } } as const;

test('a report that comes while its case is being decided is a case of its own, also if the decision is carried out again', async () => {
  let late = '';
  let carryOut: (act: Logged) => Promise<void> = async () => {};
  let decision: Act | undefined;
  const cases = await casesWith(({ audit }) => ({
    audit: {
      ...audit,
      carry(what: string, work: typeof carryOut) {
        carryOut = work;
        audit.carry(what, work);
      },
      async act(act: Act) {
        decision = act;
        late = await cases.report(SUBJECT, { ...one, text: 'later' }, '192.0.2.2', ['both', 'new']);
        await audit.act(act);
      },
    },
  }));
  const early = await cases.report(SUBJECT, one, '192.0.2.1', ['kept', 'both']);
  await cases.decide(kept, async () => {});
  // As another copy does that believes this one dead.
  const again = async () => decision && carryOut({ ...decision, id: 'x', at: 0 });
  await again();
  expect([await cases.stateOf(early), await cases.stateOf(late)]).toEqual(['keep', 'open']);
  expect(await cases.list()).toMatchObject([
    { count: 1, reports: [{ text: 'later' }], pictures: ['both', 'new'] },
  ]);
  await cases.report(SUBJECT, one, '192.0.2.3', ['both']);
  await again();
  expect(await cases.list()).toMatchObject([{ count: 2, pictures: ['both', 'new'] }]);
});

test('one network leaves room for reports of others', async () => {
  const cases = await casesWith(() => ({ limiter: { take: async () => ({ allowed: true }) } }));
  for (let number = 0; number < 100; number++) await cases.report(SUBJECT, one, '192.0.2.1');
  expect(cases.report(SUBJECT, one, '192.0.2.1')).rejects.toMatchObject({ code: 'unavailable' });
  await cases.report(SUBJECT, one, '192.0.2.2');
});

test('texts of one network hide no other, and many hide not the last', async () => {
  const cases = await casesWith(() => ({}));
  for (const [number, host] of [1, 1, 2, 3, 4, 5, 6, 6].entries())
    await cases.report(SUBJECT, { ...one, text: `${number}` }, `192.0.2.${host}`);
  const reports = ['0', '2', '3', '4', '6'].map((text) => ({ text }));
  expect(await cases.list()).toMatchObject([{ count: 8, reports }]);
});

test('a case names at most 1,000 pictures, first of all those of the last report', async () => {
  const cases = await casesWith(() => ({}));
  const fillers = Array.from({ length: 1000 }, (_, number) => String(number));
  for (const pictures of [fillers, ['last', '7']]) await cases.report(SUBJECT, one, '192.0.2.1', pictures);
  const [{ pictures = [] } = {}] = await cases.list();
  expect([pictures.length, ...pictures.slice(0, 3)]).toEqual([1000, 'last', '7', '0']);
});

test('a decision is found behind many later acts on the same picture', async () => {
  let later: (act: Act) => Promise<void> = async () => {};
  const cases = await casesWith(({ audit }) => {
    later = (act) => audit.once(act, async () => {});
    return {};
  });
  const receipt = await cases.report(SUBJECT, one, '192.0.2.1');
  await cases.decide(kept, async () => {});
  for (let number = 0; number < 60; number++)
    await later({ what: 'image.change', subject: SUBJECT, who: 'administrator' });
  expect(await cases.stateOf(receipt)).toBe('keep');
});

test.each(['setFenced', 'remove'] as const)(
  'a report is not undone by a %s before it that the store carries out late',
  async (call) => {
    let late: (() => Promise<unknown>) | undefined;
    const cases = await casesWith(({ state }) => ({
      state: {
        ...state,
        [call](...args: never[]) {
          const work = () => (state[call] as (...args: never[]) => Promise<unknown>)(...args);
          if (late) return work();
          late = work;
          return Promise.reject(new AppError('unavailable', inEnglish('no answer')));
        },
      },
    }));
    const first = cases.report(SUBJECT, one, '192.0.2.1').then(() => cases.decide(kept, async () => {}));
    await expect(first).rejects.toThrow('no answer');
    const receipt = await cases.report(SUBJECT, one, '192.0.2.2');
    await late?.();
    expect(await cases.stateOf(receipt)).toBe('open');
  },
);

test.each([
  ['and removed with its pictures', '', []],
  ['and loses also what its owner has taken out', '/images/0', [0]],
  ['and its pictures are removed though its owner has deleted it', '?', [0, 1, 2]],
] as const)('an album is reported, %s', async (_what, path, taken) => {
  const images = [await upload(), await upload(), await upload()];
  const made = await server.post('/api/albums', {
    title: 'Quay',
    images: images.map(({ id, delete_token }) => ({ id, delete_token })),
  });
  const { id, token } = (await made.json()) as { id: string; token: string };
  const receipt = await receiptOf(await report({ album: id, reason: 'illegal' }, '192.0.2.40'));
  const at = path.replace('0', images[0]?.id ?? '');
  if (at) {
    const headers = { 'x-album-token': token };
    expect((await server.send(`/api/albums/${id}${at}`, { method: 'DELETE', headers })).status).toBe(200);
    // Perhaps by its owner, whom this does not help.
    await report({ album: id, reason: 'spam' }, '192.0.2.41');
  }
  const [, , { id: gone, delete_token } = { id: '', delete_token: '' }] = images;
  await server.send(`/api/delete/${gone}?token=${delete_token}`, { method: 'DELETE' });
  const listed = await server.send('/api/admin/reports', { headers: ADMIN });
  expect((await listed.json()) as object).toMatchObject({
    cases: [{ images: expect.arrayContaining(images.map(({ id }) => id)) }],
  });
  const { page, decide } = await moderator();
  const shown = await page();
  for (const [index, image] of images.entries())
    expect([index, shown.includes(`/admin/picture/${image.id}`)]).toEqual([
      index,
      taken.includes(index as never),
    ]);
  await decide({ subject: `album ${id}`, verdict: 'delete', reason: 'illegal', statement: '' });
  expect(await stateOf(receipt)).toBe('delete');
  for (const gone of [`/a/${id}`, ...images.map((image) => `/api/info/${image.id}`)])
    expect([gone, (await server.send(gone)).status]).toEqual([gone, 404]);
});

test('the webhook tells of each case once, without what strangers wrote', async () => {
  const image = await upload();
  for (const from of ['192.0.2.50', '192.0.2.51'])
    await report({ image: image.id, reason: 'abuse', text: 'secret words' }, from);
  const mine = () =>
    told.filter(({ type, data }) => type === 'report.opened' && JSON.stringify(data).includes(image.id));
  const until = Date.now() + 10_000;
  while (mine().length === 0 && Date.now() < until) await Bun.sleep(20);
  expect(mine().map(({ data }) => data)).toEqual([{ subject: `image ${image.id}`, reason: 'abuse' }]);
  await (await moderator()).decide({ subject: `image ${image.id}`, verdict: 'keep' });
});

test('what cannot be reported is refused, and receipts cannot be guessed', async () => {
  const image = await upload();
  expect((await report({ image: 'aaaaaaaaaaaa', reason: 'spam' }, '192.0.2.60')).status).toBe(404);
  expect((await report({ image: '../../etc', reason: 'spam' }, '192.0.2.60')).status).toBe(400);
  expect((await report({ image: image.id, reason: 'boredom' }, '192.0.2.60')).status).toBe(400);
  expect(
    (await report({ image: image.id, reason: 'spam', text: 'x'.repeat(2001) }, '192.0.2.60')).status,
  ).toBe(400);
  for (const receipt of ['x', `image-${image.id}-${'A'.repeat(22)}`, `image-${image.id}`])
    expect(await stateOf(receipt)).toBe(404);
});

test('a flood from one address, and from all, is limited', async () => {
  const image = await upload();
  const statuses: number[] = [];
  for (let number = 0; number < 12; number++)
    statuses.push((await report({ image: image.id, reason: 'spam' }, '192.0.2.90')).status);
  expect(statuses).toEqual([...Array(10).fill(201), 429, 429]);
  let recorded = 0;
  for (let number = 0; number < 400; number++) {
    if (
      (await report({ image: image.id, reason: 'spam' }, `198.18.${number >> 8}.${number & 255}`)).status ===
      201
    )
      recorded++;
  }
  expect(recorded).toBeLessThan(300);
  await (await moderator()).decide({ subject: `image ${image.id}`, verdict: 'keep' });
});
