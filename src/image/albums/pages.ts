import { AppError } from '../../errors.ts';
import type { Caller } from '../../http/route.ts';
import { pageResponse } from '../../web/page-response.ts';
import type { SiteOf } from '../../web/site.ts';
import { type ImageRecord, visibilityOf } from '../image.ts';
import { albumPage } from '../pages/album-page.ts';
import type { Pages } from '../pages/pages.ts';
import { PRIVATE_CACHE } from '../serve/serve.ts';
import type { ImageService } from '../service.ts';
import { type AlbumRecord, picturesOf } from './album.ts';
import type { Albums } from './albums.ts';
import type { CountReads, Download } from './download.ts';

/** Number of picture records that cost as much as another request. */
const PER_READ = 100;

/**
 * Counts what viewing an album costs beyond its request, because all its records are read. Rejects with
 * `rate_limited`.
 */
type CountLook = (peer: string, album: AlbumRecord) => Promise<void>;

export function createLookCounter(countReads: CountReads | undefined): CountLook {
  return async (peer, album) => {
    const more = Math.floor(picturesOf(album).length / PER_READ);
    if (more > 0) await countReads?.(peer, more);
  };
}

interface AlbumPagesOptions {
  albums: Pick<Albums, 'find' | 'pictures'>;
  service: Pick<ImageService, 'cookies'>;
  pages: Pick<Pages, 'show'>;
  download: Download;
  countLook: CountLook;
  siteOf: SiteOf;
  basePath: string;
}

/** The pages of albums, and their ZIP files. */
export function createAlbumPages(options: AlbumPagesOptions) {
  const { albums, service, pages, download, countLook, siteOf, basePath } = options;

  /** Decides which pictures of an album are hidden from the visitor. */
  function hidingFrom(request: Request) {
    const opens = service.cookies.opener(request.headers.get('cookie'));
    const isLocked = (image: ImageRecord) => image.passwordHash !== null && !opens(image);
    // A page or a ZIP file must not use up views, nor show pictures with limited views for free.
    return { isLocked, isHidden: (image: ImageRecord) => image.maxViews !== null || isLocked(image) };
  }

  return {
    /** Rejects with `not_found`. */
    async show({ request, context: { origin, peer } }: Caller, id: string, page: number): Promise<Response> {
      const site = siteOf(request);
      const album = await albums.find(id);
      await countLook(peer, album);
      const pictures = await albums.pictures(album);
      const hidden = hidingFrom(request);
      const isListed = album.unlisted === 0 && pictures.every((image) => visibilityOf(image) === 'public');
      const base = origin + basePath;
      const view = albumPage(site, { base, basePath, album, pictures, page, isListed, ...hidden });
      const isOpen = pictures.every(
        ({ passwordHash, maxViews }) => passwordHash === null && maxViews === null,
      );
      return pageResponse(site, view, {
        cache: isOpen ? 'private, no-cache' : PRIVATE_CACHE,
        headers: isListed ? [] : [['x-robots-tag', 'noindex']],
      });
    },

    /** Shows the page of one picture, between its neighbours in the album. Rejects with `not_found`. */
    async picture(call: Caller, id: string, picture: string): Promise<Response> {
      const album = await albums.find(id);
      await countLook(call.context.peer, album);
      const pictures = await albums.pictures(album);
      const place = pictures.findIndex((image) => image.id === picture);
      if (place < 0) throw new AppError('not_found', 'There is no such image in this album.');
      const title = album.title || siteOf(call.request).words.albums.untitled;
      return pages.show(call, picture, {
        newer: pictures[place - 1] ?? null,
        older: pictures[place + 1] ?? null,
        album: { ...album, title, path: `${basePath}/a/${id}` },
      });
    },

    /** Sends those pictures that the visitor may see as one file. Rejects like the download. */
    async zip({ request, context: { peer, payer, head } }: Caller, id: string): Promise<Response> {
      const album = await albums.find(id);
      // Also where no file is sent: its records are read all the same.
      await countLook(peer, album);
      return download(album, await albums.pictures(album), { peer, payer, head, ...hidingFrom(request) });
    },
  };
}
