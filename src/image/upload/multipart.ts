import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { AppError, invalidParameter } from '../../errors.ts';
import { createAbortable } from '../../lib/abortable.ts';
import { tooLarge } from './body.ts';

/** The field that carries the picture. */
const IMAGE = 'image';
const MAX_FIELDS = 20;
const MAX_FIELD_BYTES = 8192;
const MAX_HEADER_BYTES = 8192;

/** What a form may add to its file: text fields, headers and boundaries. */
export const FORM_OVERHEAD_BYTES = 256 * 1024;

interface Image {
  file: Readable;
  stored: Promise<void>;
}

export interface Form {
  /** The text fields; of several with one name the last. */
  fields: Record<string, string>;
  /** As it was sent, not cleaned. */
  filename: string | null;
}

/**
 * Reads a multipart form with exactly one part named `image`, which `store` consumes while it arrives; other files are
 * passed over.
 * @throws {AppError} `invalid_body` when the form is broken, `invalid_parameter` naming a field, `too_large`.
 */
export async function readForm(
  contentType: string,
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  store: (image: Readable) => Promise<void>,
): Promise<Form> {
  const parser = createParser(contentType, maxBytes);
  const { wait, stop } = createAbortable();
  let fault: unknown = null;
  const reject = (error: unknown) => {
    fault ??= error;
    stop(error);
  };
  const form: Form = { fields: Object.create(null), filename: null };
  let image: Image | null = null;

  parser.on('error', (error) => reject(broken(error)));
  parser.on('fieldsLimit', () => reject(new AppError('invalid_body', 'The form has too many fields.')));
  parser.on('partsLimit', () => reject(new AppError('invalid_body', 'The form has too many parts.')));
  parser.on('field', (name, value, _nameTruncated, truncated) => {
    if (truncated)
      reject(invalidParameter(name, `The field ${name} is longer than ${MAX_FIELD_BYTES} bytes.`));
    form.fields[name] = value;
  });
  parser.on('file', (name, file: BusboyFileStream, filename) => {
    file.on('error', (error) => reject(broken(error)));
    if (name !== IMAGE) return void file.resume();
    if (image) return reject(invalidParameter(IMAGE, 'Send one file in the field image, not several.'));
    file.on('limit', () => reject(tooLarge(maxBytes)));
    form.filename = unescapeName(filename);
    image = { file, stored: store(file) };
    image.stored.catch(reject);
  });

  const finished = once(parser, 'finish');
  finished.catch(() => {});
  try {
    for await (const piece of body) {
      if (!parser.write(piece)) await wait(once(parser, 'drain'));
      // Nothing is waited for between the pieces of a form of endless fields.
      if (fault) throw fault;
    }
    parser.end();
    await wait(finished);
    if (!image) throw invalidParameter(IMAGE, 'The form has no file in the field image.');
    await wait((image as Image).stored);
    return form;
  } catch (error) {
    parser.destroy();
    await close(image);
    throw error;
  }
}

/** Browsers escape quotes and line ends in names, and nothing else (HTML standard, multipart/form-data). */
function unescapeName(filename: string): string | null {
  const escapes = /%(22|0a|0d)/gi;
  return filename
    ? filename.replace(escapes, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    : null;
}

/** Ends the writing, so that the caller may close and remove the file. */
async function close(image: Image | null): Promise<void> {
  image?.file.destroy();
  await image?.stored.catch(() => {});
}

function createParser(contentType: string, maxBytes: number): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      isPartAFile: (name, _type, filename) => name === IMAGE || filename !== undefined,
      limits: {
        fields: MAX_FIELDS,
        fieldSize: MAX_FIELD_BYTES,
        fileSize: maxBytes,
        parts: 2 * MAX_FIELDS,
        headerPairs: 32,
        headerSize: MAX_HEADER_BYTES,
      },
    });
  } catch (cause) {
    throw broken(cause);
  }
}

function broken(cause: unknown): AppError {
  return new AppError('invalid_body', 'The multipart form is broken.', { cause });
}
