import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { AppError, cutSent, invalidParameter, message } from '../../errors.ts';
import { createAbortable } from '../../lib/abortable.ts';
import { tooLarge } from './body.ts';

/** Limits of the text fields of a form, however it is encoded. */
export const MAX_FIELDS = 20;
export const MAX_FIELD_BYTES = 8192;
/** Maximum number of pictures in a form. */
export const MAX_FILES = 20;
const MAX_HEADER_BYTES = 8192;

/** Maximum size of everything in a form but its files: text fields, headers and boundaries. */
export const FORM_OVERHEAD_BYTES = 256 * 1024;

/** How a form carries pictures. */
export interface FormShape {
  /** Names of the picture fields; errors use the first one. */
  names: readonly [string, ...string[]];
  /** Maximum number of pictures in a form. Default: 20. */
  most?: number;
  /** True if a form may have no picture. */
  optional?: true;
}

/** Called with the text fields before the first picture. If it rejects, no picture is read. */
export type BeforePicture = ((fields: Readonly<Record<string, string>>) => Promise<void>) | undefined;

interface Arriving<T> {
  file: Readable;
  filename: string | null;
  stored: Promise<T>;
}

export interface Form<T> {
  /** The text fields; of repeated ones, the last. */
  fields: Record<string, string>;
  /** The results of the files in order, with their names as sent, not cleaned. */
  files: { filename: string | null; stored: T }[];
}

interface FormReading<T> {
  contentType: string;
  shape: FormShape;
  /** Maximum size of each picture, as it is sent. */
  maxBytes: number;
  /** Consumes a picture while it arrives. */
  store: (picture: AsyncIterable<Uint8Array>) => Promise<T>;
  beforePicture?: BeforePicture;
}

/**
 * Reads a multipart form with at least one picture. Files in other fields are ignored.
 * @throws {AppError} `invalid_body` for a malformed form, `invalid_parameter` with the name of a field, `too_large`.
 */
export async function readForm<T>(
  body: AsyncIterable<Uint8Array>,
  { contentType, shape, maxBytes, store, beforePicture }: FormReading<T>,
): Promise<Form<T>> {
  const { names, most = MAX_FILES, optional = false } = shape;
  const [field] = names;
  const parser = createParser(contentType, maxBytes, names);
  const { wait, stop } = createAbortable();
  let fault: unknown = null;
  const reject = (error: unknown) => {
    fault ??= error;
    stop(error);
  };
  const fields: Record<string, string> = Object.create(null);
  const images: Arriving<T>[] = [];

  parser.on('error', (error) => reject(broken(error)));
  parser.on('fieldsLimit', () => reject(tooManyFields()));
  parser.on('partsLimit', () => reject(new AppError('invalid_body', 'The form has too many parts.')));
  parser.on('field', (name, value, _nameTruncated, truncated) => {
    if (truncated) reject(tooLong(name));
    fields[name] = value;
  });
  parser.on('file', (name, file: BusboyFileStream, filename) => {
    file.on('error', (error) => reject(broken(error)));
    if (!names.includes(name)) return void file.resume();
    if (images.length === most) return reject(tooMany(field, most));
    file.on('limit', () => reject(tooLarge(maxBytes)));
    const stored = storeWhole(file, images.length === 0 ? beforePicture : undefined);
    stored.catch(reject);
    images.push({ file, filename: unescapeName(filename), stored });
  });

  async function storeWhole(file: Readable, before: BeforePicture): Promise<T> {
    await before?.(fields);
    // If this fails, the stream must not count as broken because it was not read to its end.
    return store(file.iterator({ destroyOnReturn: false }));
  }

  const finished = once(parser, 'finish');
  finished.catch(() => {});
  try {
    for await (const piece of body) {
      if (!parser.write(piece)) await wait(once(parser, 'drain'));
      // Nothing is awaited between the chunks of a form with endless fields.
      if (fault) throw fault;
    }
    parser.end();
    await wait(finished);
    if (images.length === 0 && !optional)
      throw invalidParameter(field, message('The form has no file in the field {field}.', { field }));
    const all = Promise.all(images.map(async ({ filename, stored }) => ({ filename, stored: await stored })));
    return { fields, files: await wait(all) };
  } catch (error) {
    parser.destroy();
    await Promise.all(images.map(close));
    throw error;
  }
}

/**
 * Adds a field of a form in JSON.
 * @throws {AppError} if there are as many fields as a form may have, or if it is too long: options are compared one by one.
 */
export function addField(fields: Record<string, string>, name: string, value: string): void {
  if (Object.keys(fields).length === MAX_FIELDS) throw tooManyFields();
  if (Buffer.byteLength(name) > MAX_FIELD_BYTES || Buffer.byteLength(value) > MAX_FIELD_BYTES)
    throw tooLong(name);
  fields[name] = value;
}

export const tooManyFields = () => new AppError('invalid_body', 'The form has too many fields.');

export function tooLong(name: string): AppError {
  const field = cutSent(name);
  return invalidParameter(
    field,
    message('The field {field} is longer than {most} bytes.', { field, most: MAX_FIELD_BYTES }),
  );
}

function tooMany(field: string, most: number): AppError {
  return invalidParameter(
    field,
    most === 1
      ? message('A form can have at most one file in the field {field}.', { field })
      : message('A form can have at most {most} files in the field {field}.', { most, field }),
  );
}

/** Browsers escape quotes and line ends in names (HTML standard). .NET, and so PowerShell, writes names as in mail (RFC 2047). */
function unescapeName(filename: string): string | null {
  if (!filename) return null;
  const encoded = /^=\?utf-8\?B\?([\w+/]+=*)\?=$/i.exec(filename)?.[1];
  if (encoded) return Buffer.from(encoded, 'base64').toString();
  return filename.replace(/%(22|0a|0d)/gi, decodeURIComponent);
}

/** Ends the writing, so that the caller can remove the file. */
async function close({ file, stored }: Arriving<unknown>): Promise<void> {
  file.destroy();
  await stored.catch(() => {});
}

function createParser(contentType: string, maxBytes: number, names: readonly string[]): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      // A slash may be part of a name's code.
      preservePath: true,
      isPartAFile: (name, _type, filename) =>
        filename !== undefined || (name !== undefined && names.includes(name)),
      limits: {
        fields: MAX_FIELDS,
        fieldSize: MAX_FIELD_BYTES,
        fileSize: maxBytes,
        parts: MAX_FIELDS + 2 * MAX_FILES,
        headerPairs: 32,
        headerSize: MAX_HEADER_BYTES,
      },
    });
  } catch (cause) {
    throw broken(cause);
  }
}

function broken(cause: unknown): AppError {
  return new AppError('invalid_body', 'The multipart form is malformed.', { cause });
}
