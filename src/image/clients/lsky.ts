import { EXTENSIONS, MEDIA_TYPES } from '../../codec/format.ts';
import type { Dialect } from '../../http/dialect.ts';
import { unkept } from '../../http/unkept.ts';
import { type Client, type ClientRoute, deleting, type Fields, uploading } from './client.ts';

/** Clients of Lsky Pro read `code` or `status`, and give up on any other status than 200. */
const v1: Dialect = {
  refusal: ({ status, error }) => ({
    status: 200,
    body: { code: status, msg: error, message: error, data: {}, time: seconds() },
  }),
};
const v2: Dialect = {
  refusal: ({ error }) => ({ status: 200, body: { status: false, message: error, data: {} } }),
};

/** The upload API of Lsky Pro 1. PicGo, PicList and the programs with which Typora uploads call it "V1". */
const uploadV1 = uploading('/api/upload', v1, async (call, host) => {
  const { image, links, deleteUrl } = await host.storeOne(call, {
    shape: { names: ['image'], most: 1 },
  });
  const data = {
    id: image.id,
    name: image.filename,
    url: links.raw_url,
    size: image.size,
    mime: MEDIA_TYPES[image.format],
    delete: deleteUrl,
  };
  return unkept({ code: 200, msg: 'success', message: 'success', data, time: seconds() });
});

const uploadV2 = uploading('/api/v1/upload', v2, async (call, host) => {
  const shape = { names: ['file'], most: 1 } as const;
  const { image, links, key, thumbnailUrl, deleteUrl } = await host.storeOne(call, { shape, optionsOf });
  const { raw_url: url, html, bbcode, markdown } = links;
  const stored = `${image.id}.${EXTENSIONS[image.format]}`;
  const data = {
    key,
    name: stored,
    pathname: stored,
    origin_name: image.filename,
    size: image.size / 1024,
    mimetype: MEDIA_TYPES[image.format],
    extension: EXTENSIONS[image.format],
    links: {
      url,
      html,
      bbcode,
      markdown,
      markdown_with_link: `[${markdown}](${url})`,
      thumbnail_url: thumbnailUrl,
      delete_url: deleteUrl,
    },
  };
  return unkept({ status: true, message: 'success', data });
});

/**
 * `permission` is 1 for public and 0 for private. Lsky keeps private pictures out of its gallery, but anyone with the
 * link can see them.
 */
function optionsOf({ permission, ...fields }: Fields): Record<string, string> {
  return permission === '0' ? { visibility: 'unlisted', ...fields } : fields;
}

const removeV2 = deleting('DELETE /api/v1/images/:rest', v2, async (call, host, key) => {
  await host.remove(call, key);
  return unkept({ status: true, message: 'The image is deleted.', data: {} });
});

export const lsky: Client = { name: 'lsky', routes: [uploadV1, uploadV2, removeV2] };

/**
 * Returns the route for a request to `POST /api/upload` of the root from a client of Lsky Pro 1, recognised by the
 * header `token`; `null` for any other.
 */
export function lskyAtRoot({ headers }: Request): ClientRoute | null {
  return headers.has('token') ? uploadV1 : null;
}

function seconds(): number {
  return Math.floor(Date.now() / 1000);
}
