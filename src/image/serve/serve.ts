import { EXTENSIONS, MEDIA_TYPES } from '../../codec/format.ts';
import { AppError, inEnglish } from '../../errors.ts';
import { type ImageRecord, visibilityOf } from '../image.ts';
import type { Shape } from '../records/blob-keys.ts';
import { cachedUrls } from '../records/links.ts';
import type { ImageService } from '../service.ts';
import { httpDate, isNotModified, requestedRange, STALE_S, type Validators } from './conditional.ts';
import { contentDisposition } from './disposition.ts';
import type { Version } from './thumbnails.ts';

/** A browser that opens the file directly runs nothing in it. */
const SANDBOX = "default-src 'none'; style-src 'unsafe-inline'; sandbox";
/** For everything that a password protects. */
export const PRIVATE_CACHE = 'private, no-store';

/** Sends a file to a moderator. */
export function privateFile({ id, format }: ImageRecord, body: Blob | ReadableStream<Uint8Array>): Response {
  return new Response(body, {
    headers: {
      'content-type': MEDIA_TYPES[format],
      'content-disposition': `inline; filename="${id}.${EXTENSIONS[format]}"`,
      'cache-control': PRIVATE_CACHE,
      'content-security-policy': SANDBOX,
    },
  });
}

/** The file as stored, a smaller version, or another format, which the stored file may stand in for. */
export type AskedShape = Shape & Pick<Version, 'isStopgap'>;

interface ServeRequest {
  image: ImageRecord;
  shape: AskedShape;
  /** Whether the shape depends on what the client accepts. */
  vary: boolean;
  download: boolean;
  /** Scripts of every site may read it if it is public. */
  cors: boolean;
  /** True for HEAD: no body, and no access. */
  head: boolean;
  /** Whose budget pays for a new smaller version. */
  payer: string;
}

/** Headers for the error answer, set before the error is thrown. */
type ErrorHeaders = Record<string, string | number>;

/**
 * Answers GET and HEAD of an image's file: 200, 206, or 304 without touching the file.
 * @throws {AppError} `range_not_satisfiable`, with `Content-Range` in `errorHeaders`; `not_found`; and what creating
 * a smaller version throws.
 */
export async function serveImage(
  service: ImageService,
  request: Request,
  asked: ServeRequest,
  errorHeaders: ErrorHeaders,
): Promise<Response> {
  try {
    return await serveOnce(service, request, asked, errorHeaders);
  } catch (error) {
    // The file of a version may have been removed from the store, as by a lifecycle rule. It is created again.
    const isVersion = asked.shape.width !== null || asked.shape.format !== asked.image.format;
    if (isVersion && error instanceof AppError && error.code === 'not_found') {
      return serveOnce(service, request, asked, errorHeaders);
    }
    throw error;
  }
}

async function serveOnce(
  service: ImageService,
  request: Request,
  { image, shape, vary, download, cors, head, payer }: ServeRequest,
  errorHeaders: ErrorHeaders,
): Promise<Response> {
  if (!head) service.accessed(image);
  const cacheSeconds = service.cacheSeconds(image);
  const caching = { vary, download, cors, cacheSeconds, isNamed: isNamed(request, image) };
  const asked = headersOf(image, { shape, ...caching });
  if (isNotModified(request.headers, validatorsOf(image, shape))) {
    return new Response(null, { status: 304, headers: asked.notModified });
  }

  const isStopgap = shape.isStopgap === true && { isStopgap: true as const };
  const version = { ...(await service.version(image, shape, payer)), ...isStopgap };
  const { size } = version;
  const validators = validatorsOf(image, version);
  const { notModified, file } = headersOf(image, { shape: version, ...caching });
  if (isNotModified(request.headers, validators)) {
    return new Response(null, { status: 304, headers: notModified });
  }
  const headers: Record<string, string> = { ...notModified, ...file };
  if (head) {
    // Reading the last byte shows that the file exists, and was not cut.
    const byte = await service.read(image, version, { start: size - 1, end: size });
    if (byte instanceof ReadableStream) await byte.cancel();
    headers['content-length'] = String(size);
    return new Response(null, { headers });
  }
  const range = requestedRange(request.headers, size, validators);
  if (range === 'unsatisfiable') {
    errorHeaders['content-range'] = `bytes */${size}`;
    throw new AppError(
      'range_not_satisfiable',
      inEnglish(`The range is outside the file, which has ${size} bytes.`),
    );
  }
  if (range === null) {
    headers['content-length'] = String(size);
    return new Response(await service.read(image, version), { headers });
  }
  headers['content-length'] = String(range.end - range.start);
  headers['content-range'] = `bytes ${range.start}-${range.end - 1}/${size}`;
  return new Response(await service.read(image, version, range), { status: 206, headers });
}

/**
 * Reports whether the events of a deletion name the URL of a request. Shared caches must not keep any other: nobody
 * would purge it.
 */
function isNamed({ url }: Request, image: ImageRecord): boolean {
  const { pathname, search } = new URL(url);
  const asked = pathname.slice(pathname.lastIndexOf('/i/')) + search;
  return !url.endsWith('?') && cachedUrls('', image).includes(asked);
}

/** Returns what distinguishes versions of an image's file. */
export function validatorsOf(image: ImageRecord, { width, format }: Shape): Validators {
  const other = width ?? (format === image.format ? null : format);
  return { etag: other === null ? `"${image.hash}"` : `"${image.hash}-${other}"`, modified: image.createdAt };
}

/** Returns the headers of an image's file: those that a 304 repeats, and the others. */
export function headersOf(
  image: ImageRecord,
  asked: Pick<ServeRequest, 'shape' | 'vary' | 'download' | 'cors'> & {
    cacheSeconds: number;
    isNamed: boolean;
  },
): Record<'notModified' | 'file', Record<string, string>> {
  const { shape, vary, download, cors, cacheSeconds, isNamed } = asked;
  const { id, filename, createdAt, passwordHash } = image;
  const { format } = shape;
  const isOpen = passwordHash === null;
  const notModified = {
    etag: validatorsOf(image, shape).etag,
    'cache-control': !isOpen
      ? PRIVATE_CACHE
      : shape.isStopgap
        ? 'no-store'
        : `${isNamed ? 'public' : 'private'}, max-age=${cacheSeconds}${cacheSeconds > 0 ? `, stale-while-revalidate=${STALE_S}` : ''}`,
    ...(vary && { vary: 'Accept' }),
    ...(isOpen && { 'cache-tag': id }),
    ...(isOpen && cors && { 'access-control-allow-origin': '*' }),
    ...(visibilityOf(image) !== 'public' && { 'x-robots-tag': 'noindex' }),
  };
  const file = {
    ...contentHeaders({ filename, format }, download),
    'last-modified': httpDate(createdAt),
    'accept-ranges': 'bytes',
  };
  return { notModified, file };
}

/** Returns the headers of a file that do not depend on how often it may be sent. */
export function contentHeaders(
  { filename, format }: Pick<ImageRecord, 'filename' | 'format'>,
  download: boolean,
): Record<string, string> {
  return {
    'content-type': MEDIA_TYPES[format],
    'content-disposition': contentDisposition(
      download ? 'attachment' : 'inline',
      filename,
      EXTENSIONS[format],
    ),
    'content-security-policy': SANDBOX,
    'cross-origin-resource-policy': 'cross-origin',
    'x-content-type-options': 'nosniff',
  };
}
