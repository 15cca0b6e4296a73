import { MEDIA_TYPES } from '../../codec/format.ts';
import type { Dialect } from '../../http/dialect.ts';
import { unkept } from '../../http/unkept.ts';
import { readUrl } from '../upload/url-order.ts';
import { type Client, deleting, type Fields, type Shared, uploading } from './client.ts';

const dialect: Dialect = {
  refusal: ({ status, error, code }) => ({
    status,
    body: { data: { error, code }, success: false, status },
  }),
};

/** The upload API of imgur, version 3: a file, Base64, a URL, or the body. */
const upload = uploading('/3/image', dialect, async (call, host) => {
  const shape = { names: ['image'], most: 1, base64: true } as const;
  const stored = await host.storeOne(call, { shape, optionsOf, urlOf: readUrl });
  return unkept({ data: dataOf(stored, stored.fields), success: true, status: 200 });
});

const remove = deleting('DELETE /3/image/:rest', dialect, async (call, host, deletehash) => {
  await host.remove(call, deletehash);
  return unkept({ data: true, success: true, status: 200 });
});

export const imgur: Client = {
  name: 'imgur',
  alsoAtRoot: true,
  routes: [upload, { ...upload, path: '/3/upload' }, remove],
};

/** An album is named by its ID and token in one word; those of imgur's own that a client remembers say nothing here. */
function optionsOf({ name, album = '', ...fields }: Fields): Record<string, string> {
  const [, id, token] = /^([0-9A-Za-z]{12})([0-9A-Za-z]{32})$/.exec(album) ?? [];
  return {
    ...fields,
    ...(id && token && { album: id, album_token: token }),
    ...(name && { filename: name }),
  };
}

function dataOf({ image, links, key }: Shared, { title, description, name }: Fields) {
  return {
    id: image.id,
    title: title ?? null,
    description: description ?? null,
    datetime: Math.floor(image.createdAt / 1000),
    type: MEDIA_TYPES[image.format],
    animated: image.frames > 1,
    width: image.width,
    height: image.height,
    size: image.size,
    views: 0,
    bandwidth: 0,
    vote: null,
    favorite: false,
    nsfw: null,
    section: null,
    account_url: null,
    account_id: 0,
    is_ad: false,
    in_gallery: false,
    deletehash: key,
    name: name ?? '',
    link: links.raw_url,
  };
}
