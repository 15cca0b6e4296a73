import { AppError, inEnglish, invalidParameter } from '../../errors.ts';
import type { ImageRecord } from '../image.ts';
import type { ImageService } from '../service.ts';
import type { View } from './limited-views.ts';
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

/**
 * Names of robots that open links to show a preview, or to index them. Only exact names: what chat apps and their
 * built-in browsers call themselves must not be among them.
 */
const ROBOTS = [
  ...['Twitterbot', 'Slackbot', 'Slackbot-LinkExpanding', 'Slack-ImgProxy', 'LinkedInBot', 'TelegramBot'],
  ...[
    'facebookexternalhit',
    'Facebot',
    'meta-externalagent',
    'Discordbot',
    'SkypeUriPreview',
    'Pinterestbot',
  ],
  ...['redditbot', 'vkShare', 'Mastodon', 'Pleroma', 'Misskey', 'Akkoma', 'Embedly', 'Iframely', 'Bluesky'],
  ...[
    'Snap URL Preview Service',
    'Viberbot',
    'Google-Read-Aloud',
    'BingPreview',
    'HeadlessChrome',
    'Googlebot',
  ],
  ...[
    'Googlebot-Image',
    'bingbot',
    'Applebot',
    'DuckDuckBot',
    'YandexBot',
    'Baiduspider',
    'PetalBot',
    'Bytespider',
  ],
  ...['GPTBot', 'ClaudeBot', 'Amazonbot', 'CCBot'],
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
 * Streams a file but holds back its last byte until it is clear that the transfer was not interrupted; the view then
 * counts as seen. If it is interrupted before that, or takes too long, the view is given back.
 */
export function countedBody(
  source: Blob | ReadableStream<Uint8Array>,
  view: View,
): ReadableStream<Uint8Array> {
  const reader = (source instanceof Blob ? source.stream() : source).getReader();
  let last: number | null = null;
  let isBroken = false;

  async function breakOff(reason: unknown): Promise<void> {
    isBroken = true;
    await Promise.all([view.end(false), reader.cancel(reason).catch(() => {})]);
  }

  /** Returns what may be sent of the next chunk; `null` at the end. */
  async function nextPiece(): Promise<Uint8Array | null> {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return null;
      const piece = value.slice();
      const before = last;
      last = piece.at(-1) ?? last;
      if (before === null && piece.length > 1) return piece.subarray(0, -1);
      if (before === null || piece.length === 0) continue;
      piece.copyWithin(1, 0);
      piece[0] = before;
      return piece;
    }
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
          if (piece) return controller.enqueue(piece);
          await view.settle();
          if (isBroken) return;
          await view.end(true);
        } catch (error) {
          await breakOff(error);
          throw error;
        }
        if (last !== null) controller.enqueue(Uint8Array.of(last));
        controller.close();
      },
      cancel: breakOff,
    },
    { highWaterMark: 0 },
  );
}
