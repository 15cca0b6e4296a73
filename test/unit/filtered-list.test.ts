import { expect, test } from 'bun:test';
import type { ImageRecord } from '../../src/image/image.ts';
import { type GalleryFilter, listFiltered } from '../../src/image/records/gallery.ts';
import type { ListQuery } from '../../src/image/records/listing.ts';

/** One each millisecond, the newest first; each thousandth is a GIF. */
const ALL = Array.from({ length: 5000 }, (_, index) => {
  const createdAt = 5000 - index;
  return { id: String(createdAt), createdAt, format: createdAt % 1000 === 0 ? 'gif' : 'webp' } as ImageRecord;
});
const ANY: GalleryFilter = { text: '', format: null, from: null, until: null };
let reads = 0;

async function list({ after, perPage }: ListQuery) {
  reads++;
  const begin = after ? ALL.findIndex(({ createdAt }) => createdAt < after.createdAt) : 0;
  const items = begin === -1 ? [] : ALL.slice(begin, begin + perPage);
  const next = begin !== -1 && begin + perPage < ALL.length ? (items.at(-1) ?? null) : null;
  return { items, next, total: ALL.length, exact: true };
}

const ask = (filter: Partial<GalleryFilter>, perPage = 10, after: ImageRecord | null = null) =>
  listFiltered({ list }, { ...ANY, ...filter }, { after, perPage });
const times = (items: readonly ImageRecord[]) => items.map(({ createdAt }) => createdAt);

test('without a filter it is the list itself, with its total', async () => {
  const { items, total, next } = await ask({});
  expect(times(items)).toEqual(times(ALL.slice(0, 10)));
  expect([total?.total, next?.createdAt]).toEqual([5000, 4991]);
});

test('a filter searches a bounded part, and continues after it', async () => {
  reads = 0;
  const first = await ask({ format: 'gif' });
  expect([times(first.items), first.next?.createdAt, reads]).toEqual([[5000, 4000], 3001, 20]);
  const rest = await ask({ format: 'gif' }, 10, first.next as ImageRecord);
  expect([times(rest.items), rest.next?.createdAt]).toEqual([[3000, 2000], 1001]);
});

test('a full page continues after its last picture', async () => {
  const { items, next } = await ask({ format: 'webp' }, 3);
  expect([times(items), next?.createdAt]).toEqual([[4999, 4998, 4997], 4997]);
});

test('the start of a time range is inclusive, its end exclusive', async () => {
  const { items, next, total } = await ask({ from: 2000, until: 2003 });
  expect([times(items), next, total]).toEqual([[2002, 2001, 2000], null, null]);
});
