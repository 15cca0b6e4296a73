import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import process from 'node:process';
import { FORMATS } from '../codec/format.ts';
import { choice, text } from '../config-values.ts';
import { KEPT_MS } from '../image/upload/repetitions.ts';
import { uploadOptions } from '../image/upload/upload-options.ts';
import { countOf } from '../lib/format.ts';
import { optionsOf, parametersOf } from './api-options.ts';
import {
  type Answer,
  AnswerLost,
  type Call,
  type Client,
  createClient,
  reasonOf,
  ServerAway,
  serverOptions,
} from './client.ts';
import { defineCommand } from './command.ts';
import { CommandError, EXIT, usageError } from './exit.ts';
import { openKeptTokens } from './kept-tokens.ts';
import { flag, value, valueOr } from './options.ts';
import { createProgress } from './progress.ts';
import { readSecret } from './secret-files.ts';

const SHOWN = ['url', 'raw_url', 'markdown', 'html', 'bbcode', 'json'] as const;
/** Files are held in memory, and servers accept less than this. */
const MAX_FILE_BYTES = 512 * 2 ** 20;
/** Enough for a large file over a slow line, and its conversion. After it, the server must still know what was sent. */
const TIMEOUT_MS = KEPT_MS - 60_000;
const UNREADABLE: Record<string, string> = {
  ENOENT: 'There is no such file.',
  EISDIR: 'It is a folder: name the files in it.',
  EACCES: 'It is not readable.',
};
/** The runtime replaces such bytes in arguments. */
const NOT_UTF_8 =
  'There is no such file, or its name is not UTF-8: send it as standard input, with --filename.';
/** What every upload is answered with. Without the rest, as of another version, the token is still kept. */
const UPLOADED = { id: 'string', delete_token: 'string', url: 'string' } as const;
const URL_FORM = /^https?:\/\//i;

/** The rest is written in another way here. */
const passed = optionsOf(uploadOptions, ['format', 'password', 'strip_exif', 'album', 'album_token']);

export const command = defineCommand({
  operands: { form: 'FILE|URL|-...', least: 1, most: Number.POSITIVE_INFINITY },
  about: `Uploads images to a server and prints a link for each, in the order of the files; - is standard input. A URL
is fetched by the server, if its IMAGE_FROM_URL allows that.
The delete tokens are kept in ~/.config/picpool/tokens, for \`picpool delete\`.
Exit code 0: all are uploaded; 1: at least one is not, and standard error says why.

  picpool upload --print markdown *.png
  picpool upload --album 'Harbour in winter' *.jpg
  grim - | picpool upload --filename screenshot.png -`,
  options: {
    ...serverOptions,
    ...passed,
    format: value(
      'FORMAT',
      choice(
        [...FORMATS, 'jpg', 'auto'],
        undefined,
        `Format to store: ${FORMATS.join(', ')}, or auto. [webp]`,
      ),
    ),
    'password-file': value('FILE', text(undefined, 'File with a password to protect the images with.')),
    'keep-exif': flag('Keeps EXIF metadata, including the location, and the colour profile.'),
    album: value(
      'TITLE',
      text(
        undefined,
        'Adds the images to a new album; prints its link last, and its token on standard error. May be "".',
      ),
    ),
    print: valueOr(
      'WHAT',
      choice(SHOWN, 'url', `What is printed: ${SHOWN.join(', ')}. json includes the delete token.`),
    ),
  },

  async run({ options, operands, env, terminal }) {
    const given = parametersOf(options, ['format', ...Object.keys(passed)]);
    const single = ['filename', 'title', 'alt'].find((name) => name in given);
    if (single && operands.length > 1) {
      throw usageError(`--${single} can be given for a single file only.`);
    }
    if (operands.filter((path) => path === '-').length > 1) {
      throw usageError('Standard input can be uploaded only once.');
    }
    const client = createClient(options.url, env);
    const file = options['password-file'];
    // Other users of the machine can read the command line.
    const reading = file === undefined ? undefined : readSecret(file);
    const password = await reading?.catch(({ message }: Error) => {
      throw usageError(`--password-file ${message}.`);
    });
    let album: Answer<typeof ALBUM> | null = null;
    const fields = { password, strip_exif: options['keep-exif'] ? 'false' : undefined, ...given };
    const tokens = openKeptTokens(env);
    // A server may have another name in its links than here, and be asked by either to delete.
    const keep = async ({ id, url, delete_token: token }: Answer<typeof UPLOADED>) => {
      await tokens.keep({ server: client.url, id }, token);
      const [, server] = /^(https?:\/\/[^\s]+)\/i\/[^/\s]*$/.exec(url) ?? [];
      // What a server says never takes the place of what another one is known to have.
      if (server && server !== client.url && (await tokens.find({ server, id })) === null)
        await tokens.keep({ server, id }, token);
    };
    const progress = createProgress(terminal, 'uploaded', () => performance.now());
    let failed = 0;
    for (const [index, path] of operands.entries()) {
      try {
        const file = URL_FORM.test(path) ? null : await readWhole(path);
        // Files that cannot be read leave no empty album.
        if (options.album !== undefined && album === null) {
          album = await makeAlbum(client, options.album);
          // Now, because nothing else has it if the uploads are interrupted.
          terminal.say(`Album token, to change or delete ${album.url}: ${album.token}`);
        }
        const all = { album: album?.id, album_token: album?.token, ...fields };
        const sent: Call = file === null ? jsonOf({ url: path, ...all }) : { body: formOf(file, path, all) };
        const uploaded = await send(client, sent);
        await keep(uploaded).catch((error: unknown) => {
          const why = `${tokens.path} cannot be written (${reasonOf(error)})`;
          terminal.say(`picpool: ${path}: ${why}. The delete token is ${uploaded.delete_token}`);
        });
        const answer: Record<string, unknown> = { ...uploaded, json: JSON.stringify(uploaded) };
        const { warnings, [options.print]: shown } = answer;
        if (typeof shown !== 'string')
          throw new CommandError(
            `It is uploaded to ${uploaded.url}, but the server does not name its ${options.print}.`,
          );
        await terminal.print(`${options.print === 'json' ? shown : lineOf(shown)}\n`);
        for (const warning of Array.isArray(warnings) ? warnings : [])
          terminal.say(`picpool: ${path}: ${warning?.message ?? warning}`);
      } catch (error) {
        if (!(error instanceof CommandError)) throw error;
        failed++;
        terminal.say(`picpool: ${path}: ${error.message}`);
        const left = error instanceof ServerAway ? operands.slice(index + 1) : [];
        failed += left.length;
        if (left.length > 0) terminal.say(`Not tried: ${left.join(' ')}`);
        if (error instanceof ServerAway) break;
      }
      progress.update({ done: index + 1 - failed, total: operands.length });
    }
    progress.end();
    if (album) {
      await terminal.print(`${options.print === 'json' ? JSON.stringify(album) : lineOf(album.url)}\n`);
    }
    if (failed > 0 && operands.length > 1) {
      terminal.say(`${countOf(failed, 'file')} of ${operands.length} failed`);
    }
    return failed > 0 ? EXIT.failed : EXIT.done;
  },
});

/** Sends it again if its answer was lost. If it is stored already, the server answers as before: nobody else has the delete token. */
export async function send(client: Pick<Client, 'ask'>, sent: Call): Promise<Answer<typeof UPLOADED>> {
  const headers = { ...sent.headers, 'idempotency-key': randomUUID() };
  const ask = () => client.ask('POST', '/api/upload', UPLOADED, { ...sent, headers, timeoutMs: TIMEOUT_MS });
  return ask().catch((first) => {
    if (!(first instanceof AnswerLost)) throw first;
    return ask().catch((error) => {
      // The first try may have stored it.
      if (error.message !== first.message) error.message = `${first.message} Sent again: ${error.message}`;
      throw error;
    });
  });
}

/** A server chooses what is printed, whose readers count lines and may be terminals. */
const lineOf = (text: string) => text.replace(/\p{Cc}/gu, '?');

/** What is used of a new album, which is printed as the server returns it. */
const ALBUM = { id: 'string', url: 'string', token: 'string' } as const;

function makeAlbum(client: Pick<Client, 'ask'>, title: string): Promise<Answer<typeof ALBUM>> {
  return client.ask('POST', '/api/albums', ALBUM, jsonOf({ title })).catch((error: unknown) => {
    // If only the answer was lost, the next file would make a second one.
    throw error instanceof CommandError ? new ServerAway(error.message) : error;
  });
}

type Fields = Readonly<Record<string, string | number | undefined>>;

function jsonOf(fields: Fields): Call {
  return { body: JSON.stringify(fields), headers: { 'content-type': 'application/json' } };
}

function formOf(file: Blob, path: string, fields: Fields): FormData {
  const body = new FormData();
  for (const [name, field] of Object.entries(fields)) {
    if (field !== undefined) body.set(name, String(field));
  }
  body.set('image', file, path === '-' ? 'image' : basename(path));
  return body;
}

async function readWhole(path: string): Promise<Blob> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  const stream: AsyncIterable<Buffer<ArrayBuffer>> = path === '-' ? process.stdin : createReadStream(path);
  try {
    for await (const piece of stream) {
      bytes += piece.length;
      if (bytes > MAX_FILE_BYTES) throw new CommandError('It is larger than 512 MiB.');
      pieces.push(piece);
    }
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const code = error instanceof Error && 'code' in error ? error.code : error;
    if (code === 'ENOENT' && path.includes('\uFFFD')) throw new CommandError(NOT_UTF_8);
    throw new CommandError(UNREADABLE[String(code)] ?? `It cannot be read (${code}).`);
  }
  if (bytes === 0) throw new CommandError('It is empty.');
  return new Blob(pieces);
}
