import { AppError } from '../errors.ts';
import { galleryPage, type Tile } from '../web/gallery-page.ts';
import type { HomeSection } from '../web/home-page.ts';
import { pageResponse } from '../web/page-response.ts';
import type { Site } from '../web/site.ts';
import { uploadSection } from '../web/upload-form.ts';
import { MOST_VIEWS } from './audience.ts';
import { acceptedNames } from './codec/formats.ts';
import { EXTENSIONS, FORMATS, type ImageRecord } from './image.ts';
import type { ImageService } from './service.ts';
import { DEFAULT_SIDE, MAX_SIDE } from './upload/upload-options.ts';

/** Fills the rows of a grid of 2, 3, 4 and 6 columns. */
const PER_PAGE = 24;
const LATEST = 6;

export interface GalleryOptions {
  service: Pick<ImageService, 'list' | 'limits'>;
  basePath: string;
  /** True where only holders of tokens may upload. */
  needsToken?: boolean;
}

/** The page of public images; with `text`, of those that match. */
export async function showGallery(
  { service, basePath }: GalleryOptions,
  site: Site,
  { page = 1, q: text = '' }: { page?: number; q?: string },
): Promise<Response> {
  const { items, total, exact } = await service.list({
    page,
    perPage: PER_PAGE,
    ...(text !== '' && { text }),
  });
  const pages = Math.ceil(total / PER_PAGE);
  const gallery = { basePath, tiles: items.map(tileOf), total, exact, page, pages, text };
  return pageResponse(site, galleryPage(site, gallery), { cache: 'no-cache' });
}

/** What the image host shows on the first page, also where the store does not answer. */
export async function imageHome(
  site: Site,
  request: Request,
  { service, basePath, needsToken = false }: GalleryOptions,
): Promise<HomeSection> {
  let fault: string | null = null;
  const latest = await service.list({ page: 1, perPage: LATEST }).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error;
    fault = error.message;
    return { items: [] };
  });
  const { maxUploadBytes, retentionMs, heic = true, listing = 'public' } = service.limits;
  return {
    content: uploadSection(site, {
      basePath,
      most: { bytes: maxUploadBytes, side: MAX_SIDE, usualSide: DEFAULT_SIDE, views: MOST_VIEWS },
      needsToken,
      accepted: acceptedNames(heic),
      formats: FORMATS,
      listing,
      retentionMs,
      latest: latest.items.map(tileOf),
      fault,
      hasCommandKey: /\bMac OS X\b/.test(request.headers.get('user-agent') ?? ''),
    }),
    scripts: ['copy.js', 'upload.js'],
    summary: site.words.upload.summary,
  };
}

/** What a grid shows of an image. */
export function tileOf({ id, format, filename, width, height, frames }: ImageRecord): Tile {
  return { id, extension: EXTENSIONS[format], filename, width, height, frames };
}
