import { AppError, invalidParameter } from '../../errors.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { credentialsOf } from '../access/credentials.ts';
import { tokenOf } from '../access/deleter.ts';
import { EXTENSIONS, type ImageRecord } from '../image.ts';
import { notFound } from '../missing.ts';
import type { ImageService } from '../service.ts';
import { serveLimited } from './limited.ts';
import { negotiated } from './negotiation.ts';
import { type ErrorHeaders, PRIVATE_CACHE, serveImage } from './serve.ts';
import { thumbnailWidth } from './thumbnails.ts';

/**
 * A 401 must name an authentication scheme (RFC 9110, section 15.5.2). This one is unknown to browsers, which for
 * `Basic` would show a dialog on any page that embeds the image. Basic credentials are accepted anyway.
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

/** Opens an image to the request, or rejects. Headers for the error answer are added to `errorHeaders`. */
export async function openImage(
  service: ImageService,
  request: Request,
  peer: () => string,
  image: ImageRecord,
  errorHeaders: ErrorHeaders,
): Promise<void> {
  if (image.passwordHash === null) return;
  try {
    await service.open(image, credentialsOf(request), peer());
  } catch (error) {
    errorHeaders['cache-control'] = PRIVATE_CACHE;
    if (error instanceof AppError && ['password_required', 'wrong_password'].includes(error.code)) {
      errorHeaders['www-authenticate'] = CHALLENGE;
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
  request: Request,
  contextOf: (request: Request) => RequestContext,
  { id, extension, cors }: { id: string; extension: string | null; cors: boolean },
  errorHeaders: ErrorHeaders,
): Promise<Response> {
  const isAuto = extension === null;
  if (isAuto) errorHeaders.vary = 'Accept';
  const image = await service.find(id);
  // Before the extension is checked, which would reveal the format of a protected image.
  await openImage(service, request, () => contextOf(request).peer, image, errorHeaders);
  if (!isAuto && extension !== EXTENSIONS[image.format]) throw notFound();
  const { head, payer, admin } = contextOf(request);
  const query = queryOf(request);
  const download = ['1', 'true'].includes(query.get('download') ?? '');
  if (image.maxViews !== null) {
    const free = service.mayRemove(image, { peer: null, token: tokenOf(request), admin });
    return serveLimited(service, request, { image, download, head, free });
  }
  if (isAuto && query.has('w'))
    throw invalidParameter('w', 'w works only with the direct link, without auto.');
  const shape = {
    width: isAuto ? null : thumbnailWidth(query.get('w'), image),
    format: isAuto ? await negotiated(service, image, request.headers.get('accept'), payer) : image.format,
  };
  return serveImage(
    service,
    request,
    { image, shape, vary: isAuto, download, cors, head, payer },
    errorHeaders,
  );
}

/** Parsing the URL costs more than seeing that it has no query. */
function queryOf({ url }: Request): URLSearchParams {
  return url.includes('?') ? new URL(url).searchParams : NO_QUERY;
}
const NO_QUERY = new URLSearchParams();
