import { EXTENSIONS } from '../../codec/format.ts';
import type { Dialect } from '../../http/dialect.ts';
import { unkept } from '../../http/unkept.ts';
import { type Client, deleting, type Fields, uploading } from './client.ts';

/** Returns how to refuse, with the status of the error if none is given. */
const refusing = (always?: number): Dialect => ({
  refusal: ({ status, error, code, request_id }) => ({
    status: always ?? status,
    body: { success: false, code, message: error, RequestId: request_id },
  }),
});

/** The upload API of SM.MS. PicGo expects the message `success`, others check the code. They ignore the body of any other status. */
const upload = uploading('/api/v2/upload', refusing(200), async (call, host) => {
  const shape = { names: ['smfile'], most: 1 } as const;
  const { image, links, key, deleteUrl } = await host.storeOne(call, { shape, optionsOf });
  const storename = `${image.id}.${EXTENSIONS[image.format]}`;
  const data = {
    file_id: 0,
    width: image.width,
    height: image.height,
    filename: image.filename,
    storename,
    size: image.size,
    path: new URL(links.raw_url).pathname,
    hash: key,
    url: links.raw_url,
    delete: deleteUrl,
    page: links.url,
  };
  return unkept({ success: true, code: 'success', message: 'success', data, RequestId: '' });
});

/** SM.MS' own `format` is that of the answer. */
function optionsOf({ format, ...fields }: Fields): Record<string, string> {
  return format === undefined || format === 'json' ? fields : { ...fields, format };
}

const remove = deleting('GET /api/v2/delete/:rest', refusing(), async (call, host, hash) => {
  if (call.context.head) return unkept({});
  await host.remove(call, hash);
  return unkept({ success: true, code: 'success', message: 'File delete success.', RequestId: '' });
});

export const smms: Client = { name: 'smms', routes: [upload, remove] };
