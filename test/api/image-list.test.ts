import { beforeAll, describe, expect, test } from 'bun:test';
import { Value } from '@sinclair/typebox/value';
import { infoAnswer, listAnswer, searchAnswer } from '../../src/image/schemas.ts';
import type { ImageHost, UploadAnswer } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { quarters } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { words } from '../support/words.ts';

interface List {
  page: number;
  per_page: number;
  total: number;
  total_exact: boolean;
  pages: number;
  next: string | null;
  query?: string;
  images: { id: string; filename: string }[];
}

const hosts = imageHosts();
let host: ImageHost;
const uploaded: UploadAnswer[] = [];

beforeAll(async () => {
  host = await hosts.start();
  const png = new Uint8Array(await quarters(16, 16).png().toBuffer());
  for (const filename of ['Harbour.png', 'hill_100%.png', 'harbour at night.png', 'тест.png', 'last.png']) {
    host.clock.ms += 1000;
    const format = filename === 'last.png' ? 'gif' : 'webp';
    uploaded.push(await host.upload(png, new URLSearchParams({ filename, format }).toString()));
  }
});

const list = async (query = '') => json<List>(await host.send(`/api/list?${query}`));
const search = async (q: string) => json<List>(await host.send(`/api/search?${new URLSearchParams({ q })}`));
const names = ({ images }: List) => images.map(({ filename }) => filename);

const ALL = ['last.png', 'тест.png', 'harbour at night.png', 'hill_100%.png', 'Harbour.png'];

describe('the list', () => {
  test('shows the newest first, twenty on a page', async () => {
    const all = await list();
    expect([...Value.Errors(listAnswer.schema, all)]).toEqual([]);
    expect(all).toMatchObject({ page: 1, per_page: 20, total: 5, total_exact: true, pages: 1, next: null });
    expect(names(all)).toEqual(ALL);
  });

  test('is cut into pages; past the end it is empty', async () => {
    const second = await list('page=2&per_page=2');
    expect(second).toMatchObject({ page: 2, per_page: 2, total: 5, pages: 3 });
    expect(names(second)).toEqual(['harbour at night.png', 'hill_100%.png']);
    expect(await list('page=1000000000')).toMatchObject({ total: 5, images: [] });
  });

  test.each(['/api/list?', '/api/search?q=png&'])(
    'is walked by the cursor of each answer, as %s is, while images come',
    async (path) => {
      const first = await json<List>(await host.send(`${path}per_page=2`));
      host.clock.ms += 1000;
      const png = new Uint8Array(await quarters(16, 16).png().toBuffer());
      const { id, delete_token } = await host.upload(png, 'filename=newer.png');
      const second = await json<List>(await host.send(`${path}per_page=2&cursor=${first.next}&page=9`));
      const third = await json<List>(await host.send(`${path}per_page=2&cursor=${second.next}`));
      await host.send(`/api/delete/${id}?token=${delete_token}`, { method: 'DELETE' });
      expect([first, second, third].flatMap(names)).toEqual(ALL);
      expect([second.total, third.next]).toEqual([6, null]);
    },
  );

  test('serves 100 on a page if more are requested, and the defaults if nothing is', async () => {
    expect((await list('per_page=5000')).per_page).toBe(100);
    expect(await list('page=&per_page=')).toMatchObject({ page: 1, per_page: 20 });
  });

  test.each([
    ...words`
      page=0 page=-1 page=x page=1.5 per_page=0 per_page=1e2 page=99999999999999999999 cursor=x
      cursor=zzzzzzzzzzzzzz-abc
    `,
    "cursor=abc-'",
  ])('refuses %s', async (query) => {
    const answer = await host.send(`/api/list?${query}`);
    expect(answer.status).toBe(400);
    const { details } = await json<{ details: { field: string }[] }>(answer);
    expect(details[0]?.field).toBe(query.split('=')[0] ?? '');
  });

  test('never shows the address of an uploader or a hash', async () => {
    const [{ id } = { id: '' }] = uploaded;
    for (const path of ['/api/list', '/api/search?q=png', `/api/info/${id}`, `/i/${id}`]) {
      const text = await (await host.send(path)).text();
      expect(text).not.toContain('198.51.100.7');
      expect(text).not.toMatch(/(?<!thumb)hash|[0-9a-f]{64}/i);
      expect(text).not.toContain(uploaded[0]?.delete_token ?? '-');
    }
  });
});

describe('the search', () => {
  test('finds any part of a file name in any letter case', async () => {
    const found = await search('hArBoUr');
    expect([...Value.Errors(searchAnswer.schema, found)]).toEqual([]);
    expect(found).toMatchObject({ query: 'hArBoUr', page: 1, total: 2 });
    expect(names(found)).toEqual(['harbour at night.png', 'Harbour.png']);
    expect(names(await search('ТЕСТ'))).toEqual(['тест.png']);
    expect(names(await search('hàrböur nigh'))).toEqual(['harbour at night.png']);
  });

  test.each(['', '?q=', '?page=1', `?q=${'x'.repeat(256)}`])('refuses "%s"', async (query) => {
    const answer = await host.send(`/api/search${query}`);
    expect(answer.status).toBe(400);
    const { details } = await json<{ details: { field: string }[] }>(answer);
    expect(details[0]?.field).toBe('q');
  });
});

describe('the info of an image', () => {
  test('has its facts, links and last access', async () => {
    const [first] = uploaded;
    const answer = await host.send(`/api/info/${first?.id}`);
    const info = await json(answer);
    expect([...Value.Errors(infoAnswer.schema, info)]).toEqual([]);
    // What an upload alone answers.
    const own = new Set(['delete_token', 'delete_url', 'warnings', 'removed']);
    const shared = Object.entries(first as UploadAnswer).filter(([name]) => !own.has(name));
    expect(info).toMatchObject(Object.fromEntries(shared));
    expect(info).not.toHaveProperty('delete_token');
    expect(info.last_access).toBe(first?.created_at);
  });

  test.each(['zzzzzzzzzzzz', 'x', '%00', '..%2f..%2fetc', 'a'.repeat(5000)])('of %s is 404', async (id) => {
    expect((await host.send(`/api/info/${id}`)).status).toBe(404);
  });
});
