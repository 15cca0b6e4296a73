import { expect } from 'bun:test';
import { asJson, json } from '../json.ts';
import { image } from '../stores/records.ts';
import type { ImageHost, UploadAnswer } from './image-host.ts';
import { photo } from './images.ts';

export interface Album {
  id: string;
  token: string;
}

export const withToken = ({ token }: Album) => ({ 'x-album-token': token });

const picture = new Uint8Array(await photo(60, 40));

/** A form with as many pictures. */
export function formOf(fields: Record<string, string> = {}, files = 1): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  for (let file = 0; file < files; file++) form.append('image', new File([picture], `${file}.jpg`));
  return form;
}

interface Host {
  send(path: string, init?: RequestInit): Response | Promise<Response>;
}

/** Albums of the host under test. */
export function albumsOf(host: () => Host) {
  return {
    async make(wish: object = {}): Promise<Album> {
      return json(await host().send('/api/albums', asJson('POST', wish)));
    },

    /** The IDs of its pictures, in order. */
    async idsIn({ id }: Album): Promise<string[]> {
      const { images } = await json<{ images: { id: string }[] }>(await host().send(`/api/albums/${id}`));
      return images.map((one) => one.id);
    },

    /** Uploads a picture into it, with these options. */
    async uploadInto(album: Album, options: Record<string, string> = {}) {
      const query = new URLSearchParams({ album: album.id, ...options });
      const init = { method: 'POST', body: picture, headers: withToken(album) };
      const answer = await host().send(`/api/upload?${query}`, init);
      expect(answer.status).toBe(201);
      return json<UploadAnswer & { album: string }>(answer);
    },
  };
}

/** Fills an album with so many pictures that have a record only. Returns their IDs. */
export async function fill(host: Pick<ImageHost, 'images' | 'albums'>, { id }: Album, count: number) {
  const ids = Array.from({ length: count }, (_, index) => `${id.slice(0, 8)}${1000 + index}`);
  await Promise.all(ids.map((one) => host.images.insert(image({ id: one }))));
  await host.albums.append(id, ids, { token: null, admin: true });
  return ids;
}
