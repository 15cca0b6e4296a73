import { AppError, invalidParameter } from '../../errors.ts';
import type { ImageRecord } from '../image.ts';
import type { ImageService } from '../service.ts';
import { countedBody } from './counted-body.ts';
import { contentHeaders, PRIVATE_CACHE } from './serve.ts';

interface LimitedRequest {
  image: ImageRecord;
  /** Sends it as a download. */
  download: boolean;
  /** True for HEAD: no body, and no view. */
  head: boolean;
  /** The uploader's own views do not count. */
  free: boolean;
}

/**
 * Answers GET and HEAD of an image with limited views: always with the whole file, whatever range or validator the
 * request has.
 * @throws {AppError} `invalid_parameter` for a smaller version; `gone`, `busy`, `not_found`.
 */
export async function serveLimited(
  service: Pick<ImageService, 'read' | 'takeView' | 'accessed'>,
  request: Request,
  { image, download, head, free }: LimitedRequest,
): Promise<Response> {
  if (new URL(request.url).searchParams.get('w')) {
    throw invalidParameter('w', 'A picture with max_views has no smaller versions; leave out w.');
  }
  const headers = headersOf(image, download);
  const asStored = { width: null, format: image.format };
  if (head) return new Response(null, { headers: { ...headers, 'content-length': String(image.size) } });
  if (free) return new Response(await service.read(image, asStored), { headers });
  const view = await service.takeView(image);
  try {
    const body = await service.read(image, asStored);
    if (request.signal.aborted)
      throw new AppError('invalid_body', 'The connection was closed before the response.');
    service.accessed(image);
    return new Response(countedBody(body, view), { headers });
  } catch (error) {
    await view.end(false);
    throw error;
  }
}

function headersOf(image: ImageRecord, download: boolean): Record<string, string> {
  return {
    ...contentHeaders(image, download),
    'content-length': String(image.size),
    'cache-control': PRIVATE_CACHE,
    'accept-ranges': 'none',
    'x-robots-tag': 'noindex',
    // A reverse proxy that buffers the response would hide an interrupted transfer.
    'x-accel-buffering': 'no',
  };
}

/** User agents of programs that open links to show a preview. */
const PREVIEWERS =
  /bot\b|facebookexternalhit|facebot|slack|discord|telegram|whatsapp|twitter|linkedin|skypeuripreview|mastodon|pleroma|misskey|embedly|iframely|preview|crawl|spider|pinterest|vkshare|snapchat|viber|google-read-aloud|bingpreview|headlesschrome/i;

/** Reports whether the request comes from a program that previews links, or is a browser's prefetch. */
export function isPreview({ headers }: Request): boolean {
  const purpose = `${headers.get('sec-purpose') ?? ''} ${headers.get('purpose') ?? ''}`;
  return /prefetch|preview|prerender/i.test(purpose) || PREVIEWERS.test(headers.get('user-agent') ?? '');
}
