import { AppError } from '../../errors.ts';
import { deleterOf } from '../access/deletion-rights.ts';
import { deleteUrl, linksOf } from '../records/links.ts';
import type { ImageService } from '../service.ts';
import type { Intake } from '../upload/intake.ts';
import type { Uploaded } from '../upload/storing.ts';
import type { Host, Shared } from './client.ts';

/** Width of the thumbnails in lists of clients. */
const THUMBNAIL_WIDTH = 320;
/** An ID, followed by nothing, an extension or a delete token. */
const NAMED = /(?:^|\/)([0-9A-Za-z]{12})(?:\.\w+|([0-9A-Za-z]{32}))?$/;

interface HostOptions {
  service: Pick<ImageService, 'remove'>;
  intake: Intake;
  /** Path under which clients reach the image host. */
  basePath: string;
  /** Rejects for a client whose network is blocked: its form may come to a link that he may open. */
  mayWrite: ((peer: string) => Promise<void>) | undefined;
}

/** Makes the image host available to clients of other services, through the intake of its own upload route. */
export function createHost({ service, intake, basePath, mayWrite }: HostOptions): Host {
  function share(base: string, { image, deleteToken }: Uploaded): Shared {
    const links = linksOf(base, image);
    return {
      image,
      links,
      key: image.id + deleteToken,
      deleteToken,
      deleteUrl: deleteUrl(base, image.id, deleteToken),
      thumbnailUrl: `${links.raw_url}?w=${THUMBNAIL_WIDTH}`,
    };
  }

  const store: Host['store'] = async (call, taking) => {
    const base = call.context.origin + basePath;
    // Their answers have no place for a picture that fails.
    const { outcomes, fields } = await intake.take(call, { ...taking, whole: true });
    const shared = outcomes.flatMap((one) => ('uploaded' in one ? [share(base, one.uploaded)] : []));
    return { shared, fields };
  };

  const remove: Host['remove'] = async ({ request, context }, named, token = null) => {
    const [, id = '', ownToken] = NAMED.exec(named) ?? [];
    const deleter = deleterOf(request, context);
    if (!context.moderates) await mayWrite?.(context.peer);
    // Any page that shows a picture can send a GET, so only the token in it counts.
    const peer = request.method === 'GET' ? null : deleter.peer;
    await service.remove(id, { ...deleter, peer, token: ownToken ?? token ?? deleter.token });
  };

  return {
    store,
    remove,

    async storeOne(call, taking) {
      const { shared, fields } = await store(call, taking);
      const [only] = shared;
      if (!only) throw new Error('a shape that asks for a picture was answered without one');
      return { ...only, fields };
    },

    async removeEach(call, names, token) {
      const faults: unknown[] = [];
      for (const name of names) await remove(call, name, token).catch((fault) => void faults.push(fault));
      const isMissing = (fault: unknown) => fault instanceof AppError && fault.code === 'not_found';
      const other = faults.find((fault) => !isMissing(fault));
      if (other !== undefined) throw other;
      return faults.length;
    },
  };
}
