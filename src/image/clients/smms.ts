import { EXTENSIONS } from '../../codec/format.ts';
import type { Dialect } from '../../http/dialect.ts';
import { type Client, type ClientRoute, type Fields, json } from './client.ts';

function refusal(status: number, { error, code, request_id }: Parameters<Dialect['refusal']>[0]) {
  return { status, body: { success: false, code, message: error, RequestId: request_id } };
}

/** The upload API of SM.MS. PicGo expects the message `success`, others check the code. */
const upload: ClientRoute = {
  method: 'POST',
  path: '/api/v2/upload',
  limit: 'upload',
  // Clients ignore the body of any other status.
  dialect: { refusal: (refused) => refusal(200, refused) },
  async answer(call, host) {
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
    return json({ success: true, code: 'success', message: 'success', data, RequestId: '' });
  },
};

/** SM.MS' own `format` is that of the answer. */
function optionsOf({ format, ...fields }: Fields): Record<string, string> {
  return format === undefined || format === 'json' ? fields : { ...fields, format };
}

const remove: ClientRoute = {
  method: 'GET',
  path: '/api/v2/delete/:rest',
  limit: 'write',
  dialect: { refusal: (refused) => refusal(refused.status, refused) },
  async answer(call, host, hash) {
    if (call.context.head) return json({});
    await host.remove(call, hash);
    return json({ success: true, code: 'success', message: 'File delete success.', RequestId: '' });
  },
};

export const smms: Client = { name: 'smms', routes: [upload, remove] };
