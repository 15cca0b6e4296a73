import { EXTENSIONS, type Format, MEDIA_TYPES } from '../../codec/format.ts';
import { AppError, inEnglish, invalidParameter } from '../../errors.ts';
import { KeptHeaders } from '../../http/kept-headers.ts';
import type { AnswerCache, Asked } from '../../http/response-cache.ts';
import type { Call } from '../../http/route.ts';
import { acceptedIn } from '../../lib/accepted.ts';
import { credentialsOf } from '../access/credentials.ts';
import { tokenOf } from '../access/deletion-rights.ts';
import { type ImageRecord, NEVER } from '../image.ts';
import { otherFormats, READ_EVERYWHERE } from '../records/blob-keys.ts';
import { notFound } from '../records/missing.ts';
import type { ImageService } from '../service.ts';
import { isNotModified, type Validators } from './conditional.ts';
import { serveLimited } from './limited.ts';
import { type AskedShape, headersOf, PRIVATE_CACHE, serveImage, validatorsOf } from './serve.ts';
import { thumbnailWidth } from './thumbnails.ts';

/**
 * A 401 must name an authentication scheme (RFC 9110, section 15.5.2). This one is unknown to browsers, which for
 * `Basic` would show a dialog on any page that embeds the image.
 */
const CHALLENGE = 'ImagePassword realm="picpool"';

/** Other spellings of a format's extension. */
const ALIASES: Record<string, string> = { jpeg: 'jpg', jpe: 'jpg', jfif: 'jpg' };

/** Parses `<id>` or `<id>.<extension>`, from a link or typed. Returns `null` for anything else. */
export function parseFileName(file: string): { id: string; extension: string | null } | null {
  const [, id, written] = /^([0-9A-Za-z]{12})(?:\.([A-Za-z]+))?$/.exec(file) ?? [];
  if (id === undefined) return null;
  if (written === undefined) return { id, extension: null };
  const extension = written.toLowerCase();
  return { id, extension: ALIASES[extension] ?? extension };
}

/** Opens an image to the caller, or rejects. */
export async function openImage(
  service: ImageService,
  { request, context, headers }: Pick<Call, 'request' | 'context' | 'headers'>,
  image: ImageRecord,
): Promise<void> {
  if (image.passwordHash === null) return;
  try {
    await service.open(image, credentialsOf(request), context.peer);
  } catch (error) {
    headers['cache-control'] = PRIVATE_CACHE;
    if (error instanceof AppError && ['password_required', 'wrong_password'].includes(error.code)) {
      headers['www-authenticate'] = CHALLENGE;
    }
    throw error;
  }
}

/** Reports whether the page link asks for the picture itself, in the best format that the client accepts. */
export function asksForAuto(request: Request): boolean {
  return queryOf(request).has('auto');
}

/**
 * Answers a direct link with the options `w` and `download`, or, without an extension, the page link with `auto` and
 * optionally `download`.
 */
export async function answerFile(
  service: ImageService,
  call: Call,
  { id, extension, cors }: { id: string; extension: string | null; cors: boolean },
): Promise<Response> {
  const { request, context, headers } = call;
  const isAuto = extension === null;
  if (isAuto) headers.vary = 'Accept';
  const image = await service.find(id);
  // Before the extension is checked, which would reveal the format of a protected image.
  await openImage(service, call, image);
  if (!isAuto && extension !== EXTENSIONS[image.format]) throw notFound();
  const { head, payer, admin } = context;
  const query = queryOf(request);
  const download = ['1', 'true'].includes(query.get('download') ?? '');
  if (image.maxViews !== null) {
    const free = service.mayRemove(image, { peer: null, token: tokenOf(request), admin });
    return serveLimited(service, request, { image, download, head, free });
  }
  if (isAuto && query.has('w'))
    throw invalidParameter('w', inEnglish('w works only with the direct link, without auto.'));
  const shape = isAuto
    ? await negotiated(service, image, request.headers.get('accept'), payer)
    : { width: thumbnailWidth(query.get('w'), image), format: image.format };
  const asked = { image, shape, vary: isAuto, download, cors, head, payer };
  return serveImage(service, request, asked, headers);
}

/** Parsing the URL costs more than seeing that it has no query. */
function queryOf({ url }: Request): URLSearchParams {
  return url.includes('?') ? new URL(url).searchParams : NO_QUERY;
}
const NO_QUERY = new URLSearchParams();

/**
 * Returns the format in which a client gets an image: AVIF or WebP, whichever `Accept` names first and has fewer
 * bytes than the stored image; otherwise the stored format, or JPEG if the client does not accept that. Animations
 * keep their format or become WebP. A version that does not exist yet is created.
 */
async function negotiated(
  service: Pick<ImageService, 'version'>,
  image: ImageRecord,
  accept: string | null,
  payer: string,
): Promise<AskedShape> {
  const named = [...acceptedIn(accept)];
  const placeOf = (format: Format) => named.indexOf(MEDIA_TYPES[format]) + 1 || Number.POSITIVE_INFINITY;
  const reads = (format: Format) =>
    READ_EVERYWHERE.includes(format) || placeOf(format) < Number.POSITIVE_INFINITY;
  const isReadable = reads(image.format);
  const shapeIn = (format: Format) => ({ width: null, format });
  if (image.frames > 1) return shapeIn(isReadable || !reads('webp') ? image.format : 'webp');
  // AVIF is better than WebP, so converting from AVIF would only lose quality.
  if (isReadable && image.format === 'avif') return shapeIn(image.format);
  const preferred = isReadable ? placeOf(image.format) : Number.POSITIVE_INFINITY;
  const others = otherFormats(image)
    .filter((format) => placeOf(format) < preferred || (format === 'jpeg' && !isReadable))
    .sort((one, other) => placeOf(one) - placeOf(other));
  let found: AskedShape = shapeIn(image.format);
  for (const format of others) {
    const version = await service.version(image, shapeIn(format), payer);
    if (version.format === format || isReadable) return version;
    found = version;
  }
  return found;
}

const ID_LENGTH = 12;

/** Parts of the answers about an image, built once because that costs more than everything else. */
interface Prepared {
  /** The last part of the direct link. */
  name: string;
  validators: Validators;
  whole: KeptHeaders;
  notModified: KeptHeaders;
}

/**
 * Answers the most common request, GET of a recently requested public image as it is stored, at a third of the cost
 * of router and store. All other requests are left to the route, whose answers are the same.
 */
export function createDirectLinkCache(
  service: Pick<ImageService, 'cached' | 'cachedFile' | 'accessed' | 'cacheSeconds'>,
  cors: boolean,
): AnswerCache {
  /** Kept as long as the record, which is read again after a short while. */
  const prepared = new WeakMap<ImageRecord, Prepared>();

  function prepare(image: ImageRecord): Prepared {
    const shape = { width: null, format: image.format };
    const cacheSeconds = service.cacheSeconds(image);
    const { notModified, file } = headersOf(image, {
      shape,
      vary: false,
      download: false,
      cors,
      cacheSeconds,
      isNamed: true,
    });
    // The headers of every answer; see the application.
    const common = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' };
    const made = {
      name: `${image.id}.${EXTENSIONS[image.format]}`,
      validators: validatorsOf(image, shape),
      notModified: new KeptHeaders(new Headers({ ...notModified, ...common })),
      whole: new KeptHeaders(
        new Headers({ ...notModified, ...file, ...common, 'content-length': String(image.size) }),
      ),
    };
    prepared.set(image, made);
    return made;
  }

  function kept(asked: Asked): Response | null {
    const { request, url } = asked;
    const nameAt = url.lastIndexOf('/') + 1;
    // A query may contain the name of another picture.
    const image = url.includes('?') ? undefined : service.cached(url.slice(nameAt, nameAt + ID_LENGTH));
    if (!image || image.passwordHash !== null || isEnding(image)) return null;
    const { name, validators, whole, notModified } = prepared.get(image) ?? prepare(image);
    if (url.length !== nameAt + name.length || !url.endsWith(name)) return null;
    if (isNotModified(request.headers, validators)) {
      service.accessed(image);
      return new Response(null, { status: 304, headers: asked.stamp(notModified) });
    }
    const file = request.headers.has('range') ? undefined : service.cachedFile(image);
    if (!file) return null;
    service.accessed(image);
    return new Response(file, { headers: asked.stamp(whole) });
  }

  /** The headers of an image that expires change over time. */
  const isEnding = ({ expiresAt }: ImageRecord) => expiresAt !== null && expiresAt !== NEVER;

  return { answer: (asked, make) => kept(asked) ?? make(asked) };
}
