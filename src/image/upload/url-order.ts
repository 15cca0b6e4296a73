import { readFile } from 'node:fs/promises';
import { type TString, Type } from '@sinclair/typebox';
import { AppError, cutSent, inEnglish, invalidParameter } from '../../errors.ts';
import { MAX_JSON_BYTES, parseJson } from '../../http/read-body.ts';
import { addField } from './multipart.ts';
import type { Received } from './upload.ts';

export const MAX_URL = 2000;

/** The field that turns a JSON body into an order. The other fields are the options of an upload. */
export const urlField: TString = Type.String({
  maxLength: MAX_URL,
  description: 'URL of the image: http or https, at a public address.',
});

/** Returns the URL that was sent as the first picture, or `null`. */
export async function readUrl({ files: [file] }: Pick<Received, 'files'>): Promise<string | null> {
  if (file === undefined || file.size > MAX_URL) return null;
  const text = (await readFile(file.path, 'latin1')).trim();
  return /^https?:\/\//i.test(text) ? text : null;
}

/** A picture for the server to fetch. */
export interface UrlOrder {
  url: string;
  /** The options, as in a form. */
  fields: Record<string, string>;
}

/**
 * Reads an order to fetch a URL, or returns `null` if the body is not one: a raw body may be a picture whatever its
 * content type says, and no picture begins with a brace.
 * @throws {AppError} `invalid_body` if it is not an object of strings, numbers and booleans; `invalid_parameter`
 * without `url`.
 */
export async function readUrlOrder(
  request: Request,
  { files: [file] }: Pick<Received, 'files'>,
): Promise<UrlOrder | null> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json' || file === undefined || file.size > MAX_JSON_BYTES) return null;
  const text = (await readFile(file.path, 'utf8')).trim();
  return text.startsWith('{') ? parseOrder(text) : null;
}

function parseOrder(text: string): UrlOrder {
  const fields: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(parseJson(text) as object)) {
    if (value === null) continue;
    if (typeof value === 'object') {
      const said = inEnglish(`${cutSent(name)} must be a string, a number or a boolean.`);
      throw new AppError('invalid_body', said);
    }
    addField(fields, name, String(value));
  }
  const { url, ...others } = fields;
  if (!url) throw invalidParameter('url', inEnglish('The body has no url.'));
  return { url, fields: others };
}
