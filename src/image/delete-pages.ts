import { AppError } from '../errors.ts';
import { readForm } from '../http/read-form.ts';
import type { RequestContext } from '../http/request-context.ts';
import { deletedPage, deletePage } from '../web/delete-page.ts';
import { pageResponse } from '../web/page-response.ts';
import { deleterOf } from './access/deleter.ts';
import type { Deleter } from './access/deletion-rights.ts';
import type { ImageRecord } from './image.ts';
import type { PagesOptions } from './page-parts.ts';
import { PRIVATE_CACHE } from './serve/serve.ts';

/** Deletion in two steps, because opening a link must not delete. */
export interface DeletePages {
  /** Asks for confirmation. Rejects with `forbidden` if the visitor may not delete the picture. */
  askDelete(request: Request, context: RequestContext, id: string): Promise<Response>;
  /** Deletes. Rejects with `forbidden` if the visitor may not delete the picture. */
  confirmDelete(request: Request, context: RequestContext, id: string): Promise<Response>;
}

export function createDeletePages({ service, siteOf, basePath }: PagesOptions): DeletePages {
  async function removable(id: string, by: Deleter): Promise<ImageRecord> {
    const image = (await service.inReview(id)) ?? (await service.find(id));
    if (service.mayRemove(image, by)) return image;
    throw new AppError(
      'forbidden',
      by.token === null ? 'Only the uploader may delete an image.' : 'The delete token is wrong.',
    );
  }

  return {
    async askDelete(request, context, id) {
      const token = new URL(request.url).searchParams.get('token');
      const { filename, passwordHash } = await removable(id, deleter(request, context, token));
      // A visitor with only the uploader's address may not know the password, so the name stays hidden.
      const shown = token === null && passwordHash !== null ? id : filename;
      const site = siteOf(request);
      const page = deletePage(site, { basePath, id, filename: shown, token });
      return pageResponse(site, page, { cache: PRIVATE_CACHE });
    },

    async confirmDelete(request, context, id) {
      const token = (await readForm(request)).get('token');
      const by = deleter(request, context, token);
      await removable(id, by);
      await service.remove(id, by);
      const site = siteOf(request);
      return pageResponse(site, deletedPage(site, { basePath, id }), { cache: PRIVATE_CACHE });
    },
  };
}

/** If there is a token, it alone decides; otherwise the address does. */
function deleter(request: Request, context: RequestContext, token: string | null): Deleter {
  return token === null ? deleterOf(request, context) : { peer: null, token, admin: false };
}
