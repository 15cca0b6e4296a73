import { AppError, inEnglish, invalidParameter } from '../../errors.ts';
import type { ImageRecord } from '../image.ts';
import type { ImageService } from '../service.ts';
import type { View } from './limited-views.ts';
import { contentHeaders, PRIVATE_CACHE } from './serve.ts';

interface LimitedRequest {
  image: ImageRecord;
  download: boolean;
  /** True for HEAD: no body, and no view. */
  head: boolean;
  /** The uploader's own views do not count. */
  free: boolean;
}

/**
 * Answers GET and HEAD of an image with limited views: always with the whole file, whatever range or validator the
 * request has.
 * @throws {AppError} `invalid_parameter` for a smaller version; `gone`, `busy`, `not_found`, or `unavailable` if all files are missing.
 */
export async function serveLimited(
  service: Pick<ImageService, 'read' | 'takeView' | 'accessed'>,
  request: Request,
  { image, download, head, free }: LimitedRequest,
): Promise<Response> {
  if (new URL(request.url).searchParams.get('w')) {
    throw invalidParameter('w', inEnglish('A picture with max_views has no smaller versions; leave out w.'));
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
    return new Response(countedBody(body, view, image.size), { headers });
  } catch (error) {
    await view.end(null);
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

/**
 * Names of robots that open links to show a preview, or to index them. Only exact names: what chat apps and their
 * built-in browsers call themselves must not be among them.
 */
const ROBOTS = [
  'Twitterbot|Slackbot|Slackbot-LinkExpanding|Slack-ImgProxy|LinkedInBot|TelegramBot|facebookexternalhit|Facebot',
  'meta-externalagent|Discordbot|SkypeUriPreview|Pinterestbot|redditbot|vkShare|Mastodon|Pleroma|Misskey|Akkoma',
  'Embedly|Iframely|Bluesky|Snap URL Preview Service|Viberbot|Google-Read-Aloud|BingPreview|HeadlessChrome',
  'Googlebot|Googlebot-Image|bingbot|Applebot|DuckDuckBot|YandexBot|Baiduspider|PetalBot|Bytespider',
  'GPTBot|ClaudeBot|Amazonbot|CCBot',
];
/** WhatsApp's built-in browser has the name elsewhere; addresses of instructions are given by robots alone. */
const PREVIEWERS = new RegExp(
  `^WhatsApp/|\\+https?://|(?:^|[\\s;(,])(?:${ROBOTS.join('|')})(?:$|[\\s;/),])`,
  'i',
);

/** Reports whether the request comes from a program that previews links, or is a browser's prefetch. */
export function isPreview({ headers }: Request): boolean {
  const purpose = `${headers.get('sec-purpose') ?? ''} ${headers.get('purpose') ?? ''}`;
  return /prefetch|preview|prerender/i.test(purpose) || PREVIEWERS.test(headers.get('user-agent') ?? '');
}

/**
 * Streams a file of `size` bytes. A client that gets a tenth of it has seen it; before that it pauses, so that a transfer that
 * breaks is noticed, and gives the view back. The view is ended before the last bytes are sent.
 */
export function countedBody(
  source: Blob | ReadableStream<Uint8Array>,
  view: View,
  size: number,
): ReadableStream<Uint8Array> {
  const reader = (source instanceof Blob ? source.stream() : source).getReader();
  const tenth = Math.ceil(size / 10);
  let sent = 0;
  let rest: Uint8Array | undefined;
  let isBroken = false;

  async function breakOff(reason: unknown): Promise<void> {
    isBroken = true;
    await Promise.all([view.end(sent >= tenth), reader.cancel(reason).catch(() => {})]);
  }

  /** Returns what may be sent next; `undefined` at the end. */
  async function nextPiece(): Promise<Uint8Array | undefined> {
    const piece = rest ?? (await reader.read()).value;
    rest = undefined;
    const unseen = tenth - 1 - sent;
    if (piece && unseen > 0 && piece.length > unseen) {
      rest = piece.subarray(unseen);
      return piece.subarray(0, unseen);
    }
    if (unseen === 0) await view.settle();
    return piece;
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        void view.timedOut.then((isLate) => {
          if (!isLate || isBroken) return;
          void breakOff('too slow');
          controller.error(new Error('The transfer took too long.'));
        });
      },
      async pull(controller) {
        try {
          const piece = await nextPiece();
          if (isBroken) return;
          sent += piece?.length ?? 0;
          // The next request must find it counted.
          if (!piece || sent >= size) await view.end(true);
          if (piece) controller.enqueue(piece);
          else controller.close();
        } catch (error) {
          await breakOff(error);
          throw error;
        }
      },
      cancel: breakOff,
    },
    { highWaterMark: 0 },
  );
}
