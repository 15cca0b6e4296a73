import { AppError, inEnglish, invalidParameter } from '../../errors.ts';
import type { Caller } from '../../http/route.ts';
import { readFields } from '../upload/body.ts';
import type { Received } from '../upload/upload.ts';
import { type Client, type ClientRoute, type Fields, type Host, plainRefusal, text } from './client.ts';

/** The upload API of 0x0 (The Null Pointer): the answer is the link, and `X-Token` manages it. */
const upload: ClientRoute = {
  method: 'POST',
  path: '',
  limit: 'upload',
  dialect: plainRefusal,
  async answer(call, host) {
    const shape = { names: ['file'], most: 1, optional: true } as const;
    const urlOf = ({ files, fields: { url } }: Received) => (files.length === 0 && url ? url : null);
    const { shared, fields } = await host.store(call, { shape, optionsOf, urlOf });
    const [stored] = shared;
    if (stored) return text(stored.links.raw_url, { 'x-token': stored.deleteToken });
    throw fields.shorten === undefined
      ? invalidParameter(
          'file',
          inEnglish('The form has no file in the field file, and no URL in the field url.'),
        )
      : invalidParameter('shorten', inEnglish('URLs are not shortened here.'));
  },
};

const HOUR_MS = 3_600_000;
/** `expires` above this is a time in ms since 1970, as in 0x0; otherwise hours. */
const MOST_HOURS = 1_000_000;

/**
 * `expires` is when the picture expires. `secret` asks for a link that nobody can guess; all links are like that, and
 * such a picture is also unlisted.
 */
function optionsOf({ expires, secret, ...fields }: Fields): Record<string, string> {
  const options: Record<string, string> = { ...fields };
  if (secret !== undefined) options.visibility = 'unlisted';
  if (expires !== undefined) {
    const number = Number(expires);
    const hours = number > MOST_HOURS ? (number - Date.now()) / HOUR_MS : number;
    if (!(hours > 0)) {
      throw invalidParameter(
        'expires',
        inEnglish('The field expires must be a number of hours, or a future time in ms since 1970.'),
      );
    }
    options.expires_in = `${Math.ceil(hours * 60)}m`;
  }
  return options;
}

/** Carries out a form with `token` and `delete`, sent to the link of a picture. */
export async function manageByForm(
  call: Caller,
  host: Host,
  file: string,
  fields: URLSearchParams,
): Promise<Response> {
  const token = fields.get('token');
  if (!fields.has('delete'))
    throw invalidParameter('delete', inEnglish('A picture can only be deleted here: send delete=.'));
  if (!token)
    throw new AppError('forbidden', inEnglish('Send the X-Token of the upload in the field token.'));
  await host.remove(call, file, token);
  return text('The picture is deleted.');
}

const manage: ClientRoute = {
  method: 'POST',
  path: '/:rest',
  limit: 'write',
  dialect: plainRefusal,
  answer: async (call, host, file) =>
    manageByForm(call, host, file, new URLSearchParams(await readFields(call.request))),
};

export const nullPointer: Client = { name: '0x0', routes: [upload, manage] };

/**
 * Returns the route for a request to the link of a picture that is certainly from a client of 0x0: a multipart form;
 * `null` for any other.
 */
export function nullPointerAtLink({ headers }: Request): ClientRoute | null {
  return /^multipart\/form-data\s*(;|$)/i.test(headers.get('content-type') ?? '') ? manage : null;
}
