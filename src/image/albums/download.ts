import { EXTENSIONS } from '../../codec/format.ts';
import { AppError, inEnglish } from '../../errors.ts';
import type { RequestContext } from '../../http/context.ts';
import { createShares } from '../../lib/shares.ts';
import { timedStream } from '../../lib/timed-stream.ts';
import { type ZipEntry, zipOf } from '../../lib/zip.ts';
import type { ImageRecord } from '../image.ts';
import { ignoreGone } from '../records/missing.ts';
import { contentDisposition, storedName } from '../serve/disposition.ts';
import { PRIVATE_CACHE } from '../serve/serve.ts';
import type { ImageService } from '../service.ts';
import type { AlbumRecord } from './album.ts';

/** Concurrent ZIP downloads of a client, and of all clients: each holds a connection and a file. */
const DOWNLOADS = {
  each: 2,
  all: 32,
  fullMessage: inEnglish('Two of your ZIP downloads are running; wait for one to finish.'),
  busyMessage: inEnglish('Too many ZIP downloads are running; try again in a moment.'),
};
/** A download is aborted if the client reads nothing for this long. */
const STALL_MS = 60_000;
/** Time limit of a whole download: 32 GB at 9 MB/s. */
const LIFE_MS = 3_600_000;
/** File systems allow 255 bytes. */
const MAX_NAME_BYTES = 200;

/** The downloading client, and what it can see. */
interface Downloader extends Pick<RequestContext, 'peer' | 'payer' | 'head'> {
  /** True if the visitor may not see a picture in its current state. */
  isHidden: (image: ImageRecord) => boolean;
}

/** Counts reads of a client; rejects with `rate_limited`. */
export type CountReads = (peer: string, count: number) => Promise<void>;

interface DownloadOptions {
  service: Pick<ImageService, 'find' | 'read' | 'accessed'>;
  /** Counts the files that are sent. Default: unlimited. */
  countReads?: CountReads | undefined;
}

/** Sends pictures of albums as one ZIP file. */
export function createDownloads({ service, countReads }: DownloadOptions) {
  const shares = createShares(DOWNLOADS);

  async function* entriesOf(
    pictures: readonly string[],
    { isHidden }: Downloader,
  ): AsyncGenerator<ZipEntry, void> {
    const digits = Math.max(2, String(pictures.length).length);
    for (const [index, id] of pictures.entries()) {
      // It may have been deleted or protected since the ZIP was started.
      const image = await service.find(id).catch(ignoreGone);
      if (image === null || isHidden(image)) continue;
      const asStored = { width: null, format: image.format };
      const file = await service.read(image, asStored).catch((error: unknown) => {
        // A damaged one must not keep visitors from the others.
        return error instanceof AppError && error.lasting ? null : ignoreGone(error);
      });
      if (file === null) continue;
      service.accessed(image);
      yield {
        name: zipName(image, index + 1, digits),
        modified: image.createdAt,
        body: file instanceof Blob ? file.stream() : file,
      };
    }
  }

  /**
   * Streams a ZIP file of those pictures of an album that the visitor may see. Rejects with `not_found` if there are
   * none, with `rate_limited` and `busy`, and if the first one cannot be read.
   */
  return async function download(
    album: Pick<AlbumRecord, 'title'>,
    all: readonly ImageRecord[],
    downloader: Downloader,
  ): Promise<Response> {
    // A slow reader holds these for an hour, so not the records, of up to 4 KB each.
    const pictures = all.filter((image) => !downloader.isHidden(image)).map(({ id }) => id);
    if (pictures.length === 0) throw new AppError('not_found', 'This album has no pictures to download.');
    const headers = headersOf(album);
    if (downloader.head) return new Response(null, { headers });
    const leave = shares.enter(downloader.payer);
    try {
      await countReads?.(downloader.peer, pictures.length);
      const pieces = zipOf(entriesOf(pictures, downloader));
      // If the files cannot be read, the answer says so, instead of a ZIP file that breaks off.
      const first = await pieces.next();
      const body = timedStream(pieces, { first, stallMs: STALL_MS, lifeMs: LIFE_MS, onEnd: leave });
      return new Response(body, { headers });
    } catch (error) {
      leave();
      throw error;
    }
  };
}

export type Download = ReturnType<typeof createDownloads>;

function headersOf({ title }: Pick<AlbumRecord, 'title'>): Record<string, string> {
  return {
    'content-type': 'application/zip',
    'content-disposition': contentDisposition(
      'attachment',
      `${title.replaceAll(/[/\\]/g, '_') || 'album'}.zip`,
      'zip',
    ),
    'cache-control': PRIVATE_CACHE,
    'x-robots-tag': 'noindex',
    // A reverse proxy that buffers the response would read the pictures faster than the client does.
    'x-accel-buffering': 'no',
    'x-content-type-options': 'nosniff',
  };
}

/**
 * Returns the name of a picture in a ZIP file. The number keeps the order of the album and makes the name unique on
 * file systems that ignore case or Unicode form. It is never a name that Windows reserves.
 */
export function zipName(
  { filename, format }: Pick<ImageRecord, 'filename' | 'format'>,
  place: number,
  digits: number,
): string {
  const extension = EXTENSIONS[format];
  const stem = storedName(filename, extension)
    .slice(0, -extension.length - 1)
    .normalize('NFC')
    .replace(/[<>:"/\\|?*\p{Cc}]/gu, '_');
  const number = String(place).padStart(digits, '0');
  // As a stream, which leaves out half a character at the end.
  const short = new TextDecoder().decode(Buffer.from(stem).subarray(0, MAX_NAME_BYTES), { stream: true });
  return `${number} ${short.trim()}.${extension}`;
}
