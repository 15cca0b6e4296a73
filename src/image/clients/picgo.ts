import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { AppError, inEnglish } from '../../errors.ts';
import type { Dialect } from '../../http/dialect.ts';
import { readJson } from '../../http/read-body.ts';
import { unkept } from '../../http/unkept.ts';
import { type Client, deleting, uploading } from './client.ts';

/** Clients of the PicGo server give up on any other status than 200. */
const dialect: Dialect = {
  refusal: ({ error }) => ({ status: 200, body: { success: false, message: error, msg: error, result: [] } }),
};

/** The API of the PicGo and PicList server, as Obsidian's Image auto upload calls it. */
const upload = uploading('/upload', dialect, async (call, host) => {
  if (/^application\/json\b/i.test(call.request.headers.get('content-type') ?? '')) {
    const sentence =
      'This server cannot read your files: let the client send them (in Obsidian: "Remote server mode").';
    throw new AppError('invalid_body', inEnglish(sentence));
  }
  const { shared } = await host.store(call, {
    shape: { names: ['list', 'list[]', 'file', 'image', 'image[]'] },
  });
  return unkept({
    success: true,
    result: shared.map(({ links }) => links.raw_url),
    fullResult: shared.map(({ image, links, key, deleteUrl }) => ({
      imgUrl: links.raw_url,
      fileName: image.filename,
      width: image.width,
      height: image.height,
      type: 'picpool',
      hash: key,
      deleteUrl,
    })),
  });
});

/** To delete a picture, the client sends back what it stored. */
const removal = Type.Object({
  list: Type.Array(Type.Object({ hash: Type.String({ maxLength: 100 }) }), { minItems: 1, maxItems: 20 }),
});

const remove = deleting('POST /delete', dialect, async (call, host) => {
  const asked: unknown = await readJson(call.request);
  if (!Value.Check(removal, asked)) {
    throw new AppError('invalid_body', inEnglish('list must hold the results of 1 to 20 uploads.'));
  }
  const { list }: Static<typeof removal> = asked;
  const hashes = list.map(({ hash }) => hash);
  const missing = await host.removeEach(call, hashes);
  return unkept({ success: true, message: `delete success: ${list.length - missing}, fail: ${missing}` });
});

export const picgo: Client = { name: 'picgo', routes: [upload, remove] };
