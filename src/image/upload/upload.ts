import { rm } from 'node:fs/promises';
import { AppError, inEnglish, invalidParameter } from '../../errors.ts';
import { parseJson, readBody } from '../../http/read-body.ts';
import { decodeBase64, MOST_BASE64, withLongHead } from './base64.ts';
import { tooLarge } from './body.ts';
import { readEncodedForm } from './encoded-form.ts';
import { cleanFilename } from './filename.ts';
import {
  addField,
  type BeforePicture,
  FORM_OVERHEAD_BYTES,
  type Form,
  type FormShape,
  readForm,
} from './multipart.ts';
import { temporaryPath, type Written, writeTemporary } from './temporary-file.ts';

/** A file from a client, not yet checked to be a picture. */
export interface ReceivedFile extends Written {
  /** The cleaned name; `null` if none was sent. */
  filename: string | null;
}

/** What a client sent. */
export interface Received {
  /** At least one if the shape requires one. If there are several, some may be empty. */
  files: ReceivedFile[];
  /** Text fields of the form; empty for a raw body. */
  fields: Record<string, string>;
  /** Removes the files. Idempotent. */
  dispose(): Promise<void>;
}

/** How a body may carry pictures, unless it is a picture itself. */
export interface UploadShape extends FormShape {
  /** True if a picture may be sent as Base64 or as a `data:` URL: in a form of either type, or as the body. */
  base64?: boolean;
}

export interface UploadLimits {
  /** Maximum size of the picture. */
  maxBytes: number;
  /** Folder for temporary files. Created with mode 0700 if it is missing. */
  folder: string;
  signal?: AbortSignal;
  /** Maximum pause in a body. Default: 30 s. */
  idleMs?: number;
  /** Maximum time for a body. Default: 5 minutes. */
  totalMs?: number;
}

/** A form with the field `image`. */
export const OWN_SHAPE: UploadShape = { names: ['image'] };
const MULTIPART = /^multipart\/form-data\s*(;|$)/i;
const ENCODED = /^application\/x-www-form-urlencoded\s*(;|$)/i;
const JSON_FORM = /^application\/json\s*(;|$)/i;
/** Such a body is in memory as a whole: larger pictures come as forms. */
const MAX_JSON_FORM_BYTES = 4 * 1024 * 1024;

/**
 * Receives an upload: the pictures of a form or, with any other content type, the body itself. The bytes go to files
 * while they arrive; all together are at most `maxBytes`.
 * @throws {AppError} `too_large`; `invalid_body` (malformed, truncated, too slow); `invalid_parameter` with the field
 * if nothing, or too many files, were sent; `storage_full`. No file is left then.
 */
export async function receiveUpload(
  request: Request,
  limits: UploadLimits,
  shape: UploadShape = OWN_SHAPE,
  beforePicture?: BeforePicture,
): Promise<Received> {
  const { maxBytes, signal, idleMs = 30_000, totalMs = 300_000 } = limits;
  const contentType = request.headers.get('content-type') ?? '';
  const isForm = MULTIPART.test(contentType);
  const sentBytes = shape.base64 ? Math.ceil(maxBytes * MOST_BASE64) : maxBytes;
  const body = readBody(request, {
    ...{ idleMs, totalMs, signal, tooLarge: () => tooLarge(maxBytes) },
    maxBytes: sentBytes + (isForm ? FORM_OVERHEAD_BYTES : 0),
    tooSlow: () => new AppError('invalid_body', 'The request body is arriving too slowly.'),
  });
  const { paths, store } = createStore(limits, shape);
  const dispose = async () => {
    // The sweep removes what stays. That this failed must not hide why the upload did.
    await Promise.allSettled(paths.map((path) => rm(path, { force: true })));
  };
  try {
    const { files, fields } = isForm
      ? await readForm(body, { contentType, shape, maxBytes: sentBytes, store, beforePicture })
      : await readWithoutParts(body, contentType, { shape, store, beforePicture });
    const cleaned = files.map(({ filename, stored }) => ({
      ...stored,
      filename: filename === null ? null : cleanFilename(filename),
    }));
    if (cleaned.length === 1 && cleaned[0]?.size === 0) throw noImage(shape.names[0], cleaned[0].filename);
    return { files: cleaned, fields, dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

type Store = (pieces: AsyncIterable<Uint8Array>) => Promise<Written>;

/** Reads a body that is one picture, or a form without parts that contains one. */
async function readWithoutParts(
  body: AsyncIterable<Uint8Array>,
  contentType: string,
  { shape, store, beforePicture }: { shape: UploadShape; store: Store; beforePicture: BeforePicture },
): Promise<Form<Written>> {
  if (shape.base64 && JSON_FORM.test(contentType)) return readJsonForm(body, shape.names, store);
  const asPicture = async (sent: AsyncIterable<Uint8Array>) => {
    await beforePicture?.({});
    return { files: [{ filename: null, stored: await store(sent) }], fields: {} };
  };
  if (!ENCODED.test(contentType) || !(shape.base64 || shape.optional)) return asPicture(body);
  const pieces = withLongHead(body, SNIFFED_BYTES);
  try {
    const { value: head = new Uint8Array() } = await pieces.next();
    const sent = followedBy(head, pieces);
    if (BINARY.test(Buffer.from(head).toString('latin1'))) return await asPicture(sent);
    return await readEncodedForm(sent, shape.base64 ? shape.names : null, store);
  } finally {
    await pieces.return(undefined);
  }
}

/** What curl and Qt call a form unless they are told otherwise may be a picture. In forms, these bytes are escaped. */
const BINARY = /[\0-\x08\x0e-\x1f]/;
/** The heads of all formats have such a byte among these; of bare JPEG XL codestreams, nearly all. */
const SNIFFED_BYTES = 64;

async function* followedBy(head: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield head;
  yield* rest;
}

/** Reads an object of texts, of which one is a picture. */
async function readJsonForm(
  body: AsyncIterable<Uint8Array>,
  names: UploadShape['names'],
  store: Store,
): Promise<Form<Written>> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    length += piece.byteLength;
    if (length > MAX_JSON_FORM_BYTES) throw tooLarge(MAX_JSON_FORM_BYTES);
    pieces.push(piece);
  }
  const { fields, sent } = parsedFields(Buffer.concat(pieces).toString(), names);
  if (sent === undefined) throw noImage(names[0], null);
  const stored = await store(new Blob([sent]).stream());
  return { files: [{ filename: null, stored }], fields };
}

/**
 * Skips what is neither a text, a number nor a boolean.
 * @throws {AppError} `invalid_body` for anything but an object.
 */
function parsedFields(text: string, names: readonly string[]) {
  if (!/^\s*\{/.test(text)) throw new AppError('invalid_body', inEnglish('The body must be a JSON object.'));
  const fields: Record<string, string> = Object.create(null);
  let sent: string | undefined;
  for (const [name, value] of Object.entries(parseJson(text, MAX_JSON_FORM_BYTES) as object)) {
    if (value === null || typeof value === 'object') continue;
    if (names.includes(name)) sent = String(value);
    else addField(fields, name, String(value));
  }
  return { fields, sent };
}

/** Writes pictures to files, with a limit for all together; `paths` are the files that were started. */
function createStore(
  { folder, maxBytes }: UploadLimits,
  shape: UploadShape,
): { paths: readonly string[]; store: Store } {
  const paths: string[] = [];
  let total = 0;

  async function* counted(sent: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of shape.base64 ? decodeBase64(sent, shape.names[0]) : sent) {
      total += piece.byteLength;
      if (total > maxBytes) throw tooLarge(maxBytes);
      yield piece;
    }
  }

  async function store(sent: AsyncIterable<Uint8Array>): Promise<Written> {
    const path = temporaryPath(folder);
    paths.push(path);
    return writeTemporary(path, counted(sent));
  }

  return { paths, store };
}

/** The error for an empty file. A form whose file field is left empty sends one without a name. */
export function noImage(field: string, filename: string | null): AppError {
  const isNamed = filename !== null && filename !== '';
  return invalidParameter(field, isNamed ? 'The file is empty: it has 0 bytes.' : 'No image was sent.');
}
