import { EXTENSIONS, MEDIA_TYPES } from '../../codec/format.ts';
import type { Dialect } from '../../http/dialect.ts';
import { unkept } from '../../http/unkept.ts';
import { readUrl } from '../upload/url-order.ts';
import { type Client, type ClientRoute, type Fields, type Shared, text, uploading } from './client.ts';

/** Chevereto takes the picture as `source`, ImgBB as `image`. */
const SHAPE = { names: ['source', 'image'], most: 1, base64: true } as const;

const dialect: Dialect = {
  tokenInBody: true,
  refusal: ({ status, error }) => ({
    status,
    body: {
      status_code: status,
      error: { message: error, code: status },
      status_txt: error,
      success: false,
      status,
    },
  }),
};

/** Version 1 of the API of Chevereto and of ImgBB, which differ in the answer. `format` is that of the answer: json, txt or redirect. */
function uploadAt(path: string, answerOf: (shared: Shared, fields: Fields) => object): ClientRoute {
  return uploading(path, dialect, async (call, host) => {
    const inHeader = call.request.headers.get('x-api-key');
    const judge = ({ key }: Fields) => call.context.judgeToken(inHeader || key || null);
    const stored = await host.storeOne(call, { shape: SHAPE, judge, optionsOf, urlOf: readUrl });
    const form = stored.fields.format ?? new URL(call.request.url).searchParams.get('format');
    if (form === 'txt') return text(stored.links.raw_url);
    if (form === 'redirect')
      return new Response(null, { status: 303, headers: { location: stored.links.url } });
    return unkept(answerOf(stored, stored.fields));
  });
}

export const chevereto: Client = {
  name: 'chevereto',
  alsoAtRoot: true,
  routes: [uploadAt('/api/1/upload', cheveretoAnswer), uploadAt('/1/upload', imgbbAnswer)],
};

const DURATION =
  /^P(?:(\d{1,2})Y)?(?:(\d{1,3})M)?(?:(\d{1,3})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,5})H)?(?:(\d{1,6})M)?)?$/;
/** Of a year, month, week, day, hour and minute. */
const SECONDS = [31_536_000, 2_592_000, 604_800, 86_400, 3600, 60];

/** ImgBB's `expiration` is in seconds, and 0 is none; Chevereto's a duration such as `P3D`, `P1M` or `PT3H`. */
function optionsOf({
  key: _,
  format,
  expiration,
  name,
  description,
  ...fields
}: Fields): Record<string, string> {
  const isOwn = format !== undefined && !['json', 'txt', 'redirect'].includes(format);
  const amounts = DURATION.exec(expiration ?? '')?.slice(1) ?? [];
  const seconds = SECONDS.reduce((sum, unit, index) => sum + unit * Number(amounts[index] ?? 0), 0);
  const expires = seconds > 0 ? String(seconds) : expiration;
  return {
    ...fields,
    ...(isOwn && { format }),
    ...(expires && expires !== '0' && { expires_in: expires }),
    ...(name && { filename: name }),
    ...(description && { alt: description }),
  };
}

/** What both say of a file. */
function fileOf({ image }: Shared, url: string, name: string) {
  const extension = EXTENSIONS[image.format];
  return { filename: `${name}.${extension}`, name, mime: MEDIA_TYPES[image.format], extension, url };
}

function imgbbAnswer(shared: Shared, { title }: Fields): object {
  const { image, links, thumbnailUrl } = shared;
  const { id, width, height, size, createdAt, expiresAt } = image;
  const file = fileOf(shared, links.raw_url, id);
  const seconds = Math.max(0, Math.round(((expiresAt ?? createdAt) - createdAt) / 1000));
  const data = {
    ...{ id, title: title ?? image.filename },
    ...{ url_viewer: links.url, url: links.raw_url, display_url: links.raw_url },
    ...{ width, height, size, time: Math.floor(createdAt / 1000), expiration: seconds },
    image: file,
    thumb: { ...file, url: thumbnailUrl },
    delete_url: shared.deleteUrl,
  };
  return { data, success: true, status: 200 };
}

function cheveretoAnswer(shared: Shared, { title }: Fields): object {
  const { image, links, thumbnailUrl } = shared;
  const { id, width, height, size, createdAt } = image;
  const file = fileOf(shared, links.raw_url, id);
  const date = new Date(createdAt).toISOString().slice(0, 19).replace('T', ' ');
  const described = {
    ...{ id_encoded: id, title: title ?? image.filename, original_filename: image.filename },
    ...{ ...file, width, height, size, date, date_gmt: date, nsfw: 0, views: 0 },
    ...{ url_viewer: links.url, url_short: links.url, display_url: links.raw_url },
    image: { ...file, size, width, height },
    thumb: { ...file, url: thumbnailUrl },
    delete_url: shared.deleteUrl,
  };
  return {
    status_code: 200,
    success: { message: 'image uploaded', code: 200 },
    image: described,
    status_txt: 'OK',
  };
}
