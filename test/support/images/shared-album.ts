import { expect } from 'bun:test';
import { json } from '../json.ts';
import type { Fleet } from '../servers/fleet.ts';
import { PNG } from '../servers/running-server.ts';
import { zipFiles } from './album-sights.ts';

const EACH = 6;
const UPLOADER = '203.0.113.7';

interface Shown {
  total: number;
  images: { id: string }[];
}

/**
 * One album over all copies of a fleet: it is filled through all of them at once, and every copy shows the same page, the same list and the
 * same ZIP file, until it is deleted through one of them.
 */
export async function shareAlbum({ send, copies }: Pick<Fleet, 'send' | 'copies'>): Promise<void> {
  const [first] = copies;
  const made = await send('/api/albums', { method: 'POST', to: first, from: UPLOADER });
  const { id, token } = await json<{ id: string; token: string }>(made);
  const headers = { 'x-album-token': token };
  const everywhere = <T>(work: (to: (typeof copies)[number]) => Promise<T>) => Promise.all(copies.map(work));
  const turns = copies.flatMap((to) => Array.from({ length: EACH }, (_, turn) => ({ to, turn })));
  const uploads = turns.map(async ({ to, turn }) => {
    const path = `/api/upload?album=${id}&format=png&filename=${copies.indexOf(to)}-${turn}`;
    const answer = await send(path, { method: 'POST', body: PNG, headers, to, from: UPLOADER });
    expect(answer.status, await answer.clone().text()).toBe(201);
    return json<{ id: string; album: string }>(answer);
  });
  const stored = (await Promise.all(uploads)).map((upload) => upload.id);

  const listed = async (to: (typeof copies)[number]) => json<Shown>(await send(`/api/albums/${id}`, { to }));
  const ids = ({ images }: Shown) => images.map((one) => one.id);
  const [order = [], ...others] = (await everywhere(listed)).map(ids);
  expect(order.toSorted()).toEqual(stored.toSorted());
  for (const other of others) expect(other).toEqual(order);
  await everywhere(async (to) => {
    const page = await (await send(`/a/${id}`, { to, headers: { accept: 'text/html' } })).text();
    for (const picture of order) expect(page).toContain(`/i/${picture}`);
  });
  const zips = await everywhere(async (to) => {
    const answer = await send(`/a/${id}.zip`, { to });
    expect(answer.status).toBe(200);
    return zipFiles(await answer.bytes());
  });
  const file = await send(`/i/${order[0]}.png`, { to: first });
  const bytes = Buffer.from(await file.bytes());
  for (const files of zips) {
    expect([...files.keys()]).toEqual([...(zips[0]?.keys() ?? [])]);
    expect(files.size).toBe(order.length);
    for (const content of files.values()) expect(bytes.equals(content)).toBe(true);
  }

  await inviteGuests({ send, copies }, { id, token });
  const last = copies.at(-1);
  const change = { method: 'PATCH', headers: { ...headers, 'content-type': 'application/json' } };
  const reordered = order.toReversed();
  const body = JSON.stringify({ images: reordered });
  expect((await send(`/api/albums/${id}`, { ...change, body, to: last })).status).toBe(200);
  for (const shown of await everywhere(listed))
    expect(ids(shown).slice(0, reordered.length)).toEqual(reordered);
  const gone = await send(`/api/albums/${id}?images=delete`, {
    method: 'DELETE',
    headers,
    to: last,
    from: UPLOADER,
  });
  expect(await json(gone)).toMatchObject({ removed_images: stored.length + GUESTS, kept_images: [] });
  const statuses = await everywhere(async (to) =>
    [`/a/${id}`, `/a/${id}.zip`, `/api/albums/${id}`].map(async (path) => (await send(path, { to })).status),
  );
  expect(await Promise.all(statuses.flat())).toEqual(Array(3 * copies.length).fill(404));
}

/** How many pictures of guests an invitation allows that more of them send at once. */
const GUESTS = 5;

/** Guests who come to all copies at once bring exactly as many pictures as their invitation allows. */
async function inviteGuests(
  { send, copies }: Pick<Fleet, 'send' | 'copies'>,
  album: { id: string; token: string },
): Promise<void> {
  const headers = { 'x-album-token': album.token, 'content-type': 'application/json' };
  const at = `/api/albums/${album.id}/invites`;
  const body = JSON.stringify({ max: GUESTS });
  const invited = await json<{ url: string }>(
    await send(at, { method: 'POST', headers, body, from: UPLOADER }),
  );
  const { pathname, search } = new URL(invited.url);
  const adding = copies.flatMap((to) =>
    Array.from({ length: 4 }, async (_, guest) => {
      const from = `198.51.100.${guest + 1}`;
      return (await send(pathname + search, { method: 'POST', body: PNG, to, from })).status;
    }),
  );
  const statuses = await Promise.all(adding);
  expect(statuses.filter((status) => status === 201).length).toBe(GUESTS);
  expect(statuses.filter((status) => status !== 201 && status !== 409)).toEqual([]);
  const { invites, images } = await json<{ invites: { used: number }[]; images: string[] }>(
    await send(at, { headers }),
  );
  expect([invites[0]?.used, images.length]).toEqual([GUESTS, GUESTS]);
}
