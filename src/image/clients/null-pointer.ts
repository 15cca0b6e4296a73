import { AppError, inEnglish, invalidParameter } from '../../errors.ts';
import type { Caller } from '../../http/route.ts';
import type { Received } from '../upload/upload.ts';
import { type Client, type Fields, type Host, plainRefusal, text, uploading } from './client.ts';

/** The upload API of 0x0 (The Null Pointer): the answer is the link, and `X-Token` manages it. */
const upload = uploading('', plainRefusal, async (call, host) => {
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
});

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

/** Reports whether a form that was sent to the link of a picture is one of 0x0, and not that of the page. */
export const isManaging = (fields: Fields) => 'token' in fields || 'delete' in fields;

/** Carries out a form with `token` and `delete`, sent to the link of a picture. */
export async function manageByForm(
  call: Caller,
  host: Host,
  file: string,
  fields: Fields,
): Promise<Response> {
  call.context.dialect = plainRefusal;
  if (fields.delete === undefined)
    throw invalidParameter('delete', inEnglish('A picture can only be deleted here: send delete=.'));
  if (!fields.token)
    throw new AppError('forbidden', inEnglish('Send the X-Token of the upload in the field token.'));
  await host.remove(call, file, fields.token);
  return text('The picture is deleted.');
}

export const nullPointer: Client = { name: '0x0', routes: [upload] };
