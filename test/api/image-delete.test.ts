import { describe, expect, test } from 'bun:test';
import type { ImageRecord } from '../../src/image/image.ts';
import { breathe } from '../../src/lib/schedule.ts';
import { pathOf, UPLOADER, type UploadAnswer } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { photo } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { shared } from '../support/shared.ts';

const STRANGER = '203.0.113.9';
const ADMIN_TOKEN = 'an-administrator-token';

const hosts = imageHosts();
const picture = new Uint8Array(await photo(400, 300));
/** What the store is slow to tell about. */
let slow: { subject: string; until: Promise<void> } | null = null;

const host = shared(() =>
  hosts.start({
    adminToken: ADMIN_TOKEN,
    change: ({ audit }) => ({
      audit: {
        ...audit,
        async about(subject) {
          const acts = await audit.about(subject);
          // As a store that others also ask.
          await (subject === slow?.subject ? slow.until : breathe());
          return acts;
        },
      },
    }),
  }),
);

const upload = (query = '') => host.upload(picture, query);
const remove = (id: string, headers: Record<string, string> = {}, peer = UPLOADER, query = '') =>
  host.send(`/api/delete/${id}${query}`, { method: 'DELETE', headers }, peer);

async function expectGone({ id, raw_url }: UploadAnswer): Promise<void> {
  expect((await host.send(pathOf(raw_url))).status).toBe(404);
  expect((await host.send(`/i/${id}`)).status).toBe(404);
  expect((await host.send(`/api/info/${id}`)).status).toBe(404);
  expect((await host.files()).filter((name) => name.startsWith(id))).toEqual([]);
}

describe('an image is deleted', () => {
  test('from the address of its uploader, with its smaller versions, at once', async () => {
    const image = await upload();
    await host.send(pathOf(image.raw_url));
    await host.send(`${pathOf(image.raw_url)}?w=160`);
    const answer = await remove(image.id);
    expect(answer.status).toBe(200);
    expect(await json(answer)).toEqual({ success: true, id: image.id });
    await expectGone(image);
    expect((await remove(image.id)).status).toBe(404);
  });

  test.each(['delete_token', 'token', 'header', 'bearer'])(
    'from anywhere with its delete token as %s',
    async (way) => {
      const image = await upload();
      const token = image.delete_token;
      const ways: Record<string, Record<string, string>> = {
        header: { 'x-delete-token': token },
        bearer: { authorization: `Bearer ${token}` },
      };
      const headers = ways[way] ?? {};
      const query = way in ways ? '' : `?${way}=${token}`;
      expect((await remove(image.id, headers, STRANGER, query)).status).toBe(200);
      await expectGone(image);
    },
  );

  test('by the administrator', async () => {
    const image = await upload();
    expect((await remove(image.id, { authorization: `Bearer ${ADMIN_TOKEN}` }, STRANGER)).status).toBe(200);
    await expectGone(image);
  });

  test('without its password, by its uploader', async () => {
    const image = await upload('password=secret');
    expect((await remove(image.id)).status).toBe(200);
  });

  test('while another copy takes it out of review, also with an upload that failed', async () => {
    let held: ImageRecord | null = null;
    let looks = Number.POSITIVE_INFINITY;
    let isAway = false;
    async function approve() {
      // An approval that is repeated finds its image stored.
      if (held && !(await host.images.get(held.id))) await host.images.insert(held);
      held = null;
      return false;
    }
    const reviews = {
      async find() {
        if (looks-- === 0) await approve();
        return held;
      },
      withdraw() {
        if (isAway) throw new Error('The store does not answer.');
        return approve();
      },
      removeExpired: async () => {},
    };
    const host = await hosts.start({ change: () => ({ reviews }) });
    const { id, delete_token } = await host.upload(picture);
    const record = await host.images.get(id);
    if (record === null) throw new Error('no record');
    const headers = { 'x-delete-token': delete_token };
    for (const isRepeated of [false, true]) {
      for (looks of [0, 1, Number.POSITIVE_INFINITY]) {
        held = { ...record, id: 'reviewreview' };
        if (isRepeated) await host.images.insert(held);
        const answer = await host.send('/api/delete/reviewreview', { method: 'DELETE', headers }, STRANGER);
        expect([answer.status, await host.images.get('reviewreview')]).toEqual([200, null]);
      }
    }
    held = { ...record, id: 'failedfailed' };
    isAway = true;
    await host.service.takeBack({ image: held, inReview: true });
    isAway = false;
    await host.service.removeEnded();
    expect([held, await host.images.get('failedfailed')]).toEqual([null, null]);
  });

  test('from the same site in a browser', async () => {
    const image = await upload();
    const headers = { 'sec-fetch-site': 'same-origin', origin: 'http://img.example' };
    expect((await remove(image.id, headers)).status).toBe(200);
  });
});

describe('an image is not deleted', () => {
  test('by a stranger, whatever token is made up', async () => {
    const [image, other] = [await upload(), await upload()];
    const none = 'Only the uploader may delete an image. Send its delete token.';
    for (const [headers, error = 'The delete token is wrong.'] of [
      [{}, none],
      [{ 'x-delete-token': 'x' }],
      [{ 'x-delete-token': other.delete_token }],
      [{ authorization: 'Bearer not-the-administrator' }],
      [{ authorization: `Bearer picpool_${'u'.repeat(43)}` }, none],
      [{ 'x-forwarded-for': UPLOADER }, none],
    ] as [Record<string, string>, string?][]) {
      const answer = await remove(image.id, headers, STRANGER);
      expect(answer.status).toBe(403);
      expect(await json(answer)).toMatchObject({ success: false, code: 'forbidden', error });
    }
    expect((await host.send(pathOf(image.raw_url))).status).toBe(200);
  });

  test("by a page of another site in the uploader's browser, whatever token it has", async () => {
    const image = await upload();
    expect((await remove(image.id, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await remove(image.id, { 'sec-fetch-site': 'same-site' })).status).toBe(403);
    expect((await remove(image.id, { origin: 'https://evil.example' })).status).toBe(403);
    const headers = { 'sec-fetch-site': 'cross-site', 'x-delete-token': image.delete_token };
    expect((await remove(image.id, headers)).status).toBe(403);
  });

  test('if the address of the client is unknown', async () => {
    const image = await host.upload(picture, '', '');
    expect((await remove(image.id, {}, '')).status).toBe(403);
  });

  test('that does not exist', async () => {
    for (const id of ['zzzzzzzzzzzz', 'x', '%2e%2e']) {
      const answer = await remove(id);
      expect(answer.status).toBe(404);
    }
  });

  test('by GET', async () => {
    const image = await upload();
    const answer = await host.send(`/api/delete/${image.id}?delete_token=${image.delete_token}`);
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('DELETE');
  });
});

describe('the page that deletes', () => {
  const submit = (id: string, token: string) =>
    host.send(`/i/${id}/delete`, { method: 'POST', body: new URLSearchParams({ token }) }, STRANGER);

  test('asks first, and deletes when it is submitted', async () => {
    const image = await upload();
    const asked = await host.send(pathOf(image.delete_url), {}, STRANGER);
    expect(asked.status).toBe(200);
    expect(asked.headers.get('cache-control')).toBe('private, no-store');
    expect(asked.headers.get('referrer-policy')).toBe('same-origin');
    const form = /<form[^>]*>[\s\S]*<\/form>/.exec(await asked.text())?.[0];
    expect(form).toContain(`method="post" action="/i/${image.id}/delete?deleted"`);
    expect(form).toContain(`<input type="hidden" name="token" value="${image.delete_token}">`);
    expect(form).toContain(' type="submit">');
    expect((await host.send(pathOf(image.raw_url))).status).toBe(200);

    const done = await submit(image.id, image.delete_token);
    expect(done.status).toBe(200);
    expect(await done.text()).toContain('Picture deleted');
    await expectGone(image);
    expect((await submit(image.id, image.delete_token)).status).toBe(404);
  });

  test('needs the token, even from the address of the uploader', async () => {
    const image = await upload('filename=plans.png&password=x');
    for (const token of ['', 'x', `${image.delete_token}x`]) {
      expect((await submit(image.id, token)).status).toBe(403);
      const asked = await host.send(`/i/${image.id}/delete?token=${token}`);
      expect(asked.status).toBe(403);
      expect(await asked.text()).not.toContain('plans');
    }
  });
});

test('an address can delete only for as long as the operator allows, and the button is hidden afterwards', async () => {
  const bounded = await hosts.start({
    change: ({ limits }) => ({ limits: { ...limits, deleteByAddressMs: 3_600_000 } }),
  });
  const image = await bounded.upload(picture);
  const remove = (query = '') => bounded.send(`/api/delete/${image.id}${query}`, { method: 'DELETE' });
  const offers = async () =>
    !/data-delete="\w+" hidden/.test(await (await bounded.send(`/i/${image.id}`)).text());
  expect(await offers()).toBe(true);
  bounded.clock.ms -= 86_400_000;
  expect(await offers()).toBe(false);
  bounded.clock.ms += 86_400_000 + 3_600_000;
  expect(await offers()).toBe(false);
  expect((await remove()).status).toBe(403);
  expect((await bounded.send(`/i/${image.id}/delete`)).status).toBe(403);
  expect((await remove(`?token=${image.delete_token}`)).status).toBe(200);
});

test('of many answers to a decision at once, one is recorded', async () => {
  const { id, delete_token: token } = await upload();
  const log = { who: 'mod', peer: STRANGER, why: 'spam', statement: 'Spam.' };
  await host.service.remove(id, { peer: null, token: null, admin: true, log });
  const body = new URLSearchParams({ token, answer: 'It is not.' });
  const answer = async () => (await host.send(`/i/${id}/answer`, { method: 'POST', body })).status;
  const statuses = await Promise.all(Array.from({ length: 60 }, answer));
  expect(statuses.filter((status) => status < 400)).toEqual([303]);
  expect(await host.service.decision(id, token)).toEqual({ statement: 'Spam.', answered: true });
});

test('an answer does not wait for those of strangers, about pictures that were not removed', async () => {
  const [mine, other] = [await upload(), await upload()];
  const log = { who: 'mod', peer: STRANGER, why: 'spam', statement: 'Spam.' };
  await host.service.remove(mine.id, { peer: null, token: null, admin: true, log });
  const answer = async ({ id, delete_token: token }: UploadAnswer) =>
    (
      await host.send(`/i/${id}/answer`, {
        method: 'POST',
        body: new URLSearchParams({ token, answer: 'No.' }),
      })
    ).status;
  const { promise, resolve } = Promise.withResolvers<void>();
  slow = { subject: `image ${other.id}`, until: promise };
  const strange = answer(other);
  await breathe();
  expect(await answer(mine)).toBe(303);
  resolve();
  expect(await strange).toBe(404);
  slow = null;
});
