import { cutSent, inEnglish, invalidField, invalidParameter } from '../../errors.ts';
import type { Caller } from '../../http/route.ts';
import type { Received } from '../upload/upload.ts';
import { type Client, type Fields, type Host, plainRefusal, text, uploading } from './client.ts';

/** How long litterbox can keep a file, according to its clients. */
const TIMES = ['1h', '12h', '24h', '72h'];

const SHAPE = { names: ['fileToUpload'], most: 1, optional: true } as const;
/** Maximum number of files of one request to delete. */
const MOST_DELETED = 20;

/**
 * The API of catbox, which uploads and deletes files and fetches them from URLs. `userhash` is the token of an
 * uploader, or the token that deletes a file.
 */
const api = uploading('/user/api.php', { ...plainRefusal, tokenInBody: true }, async (call, host) => {
  const judge = ({ userhash }: Fields) => call.context.judgeToken(userhash || null);
  const urlOf = ({ files, fields: { reqtype, url } }: Received) =>
    files.length === 0 && reqtype === 'urlupload' && url ? url : null;
  const taken = await host.store(call, { shape: SHAPE, judge, urlOf });
  const isDeletion = taken.shared.length === 0 && taken.fields.reqtype === 'deletefiles';
  return isDeletion ? removeAll(call, host, taken.fields) : linkTo(taken);
});

/**
 * The upload API of litterbox, which is catbox for temporary files. It cannot delete; the token for that is in the
 * header anyway.
 */
const litterbox = uploading('/resources/internals/api.php', plainRefusal, async (call, host) =>
  linkTo(await host.store(call, { shape: SHAPE, optionsOf: withTime })),
);

export const catbox: Client = { name: 'catbox', routes: [api, litterbox] };

function withTime({ time = '1h', ...fields }: Fields): Record<string, string> {
  if (TIMES.includes(time)) return { ...fields, expires_in: time };
  throw invalidField('time', inEnglish(`must be ${TIMES.join(', ')}, not "${cutSent(time)}"`));
}

async function removeAll(call: Caller, host: Host, { files = '', userhash }: Fields): Promise<Response> {
  const names = files.split(/\s+/).filter((name) => name !== '');
  if (names.length === 0 || names.length > MOST_DELETED) {
    throw invalidParameter(
      'files',
      inEnglish(`The field files must name 1 to ${MOST_DELETED} files, separated by spaces.`),
    );
  }
  await host.removeEach(call, names, userhash || null);
  return text('Files successfully deleted.');
}

function linkTo({ shared: [stored], fields }: Awaited<ReturnType<Host['store']>>): Response {
  if (stored) return text(stored.links.raw_url, { 'x-delete-token': stored.deleteToken });
  const { reqtype } = fields;
  if (reqtype === 'fileupload')
    throw invalidParameter('fileToUpload', inEnglish('The form has no file in the field fileToUpload.'));
  if (reqtype === 'urlupload')
    throw invalidParameter('url', inEnglish('The form has no URL in the field url.'));
  throw invalidParameter(
    'reqtype',
    inEnglish('The field reqtype must be fileupload, urlupload or deletefiles; albums are not supported.'),
  );
}
