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

/** Deletion in two steps, as a link alone must not delete. */
export interface DeletePages {
  /** Asks for confirmation; rejects with `forbidden` for who may not delete. */
  askDelete(request: Request, context: RequestContext, id: string): Promise<Response>;
  /** Deletes; rejects with `forbidden` for who may not. */
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
      // Who has only the uploader's address need not know the password; the name stays hidden then.
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

/** A token decides alone; without one, the address decides. */
function deleter(request: Request, context: RequestContext, token: string | null): Deleter {
  return token === null ? deleterOf(request, context) : { peer: null, token, admin: false };
}
