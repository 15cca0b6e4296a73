import type { ContextOf } from '../../http/request-context.ts';
import { deleterOf } from '../access/deleter.ts';
import { deleteUrl, linksOf } from '../links.ts';
import type { ImageService } from '../service.ts';
import type { Intake } from '../upload/intake.ts';
import type { Uploaded } from '../upload/uploaded.ts';
import type { Host, Shared } from './client.ts';

/** Width of the thumbnails in lists of clients. */
const THUMBNAIL_WIDTH = 320;
/** An ID, followed by nothing, an extension or a delete token. */
const NAMED = /(?:^|\/)([0-9A-Za-z]{12})(?:\.\w+|([0-9A-Za-z]{32}))?$/;

interface HostOptions {
  service: Pick<ImageService, 'remove'>;
  intake: Intake;
  contextOf: ContextOf;
  /** Scheme, host and base path under which the client reaches the image host. */
  baseOf: (request: Request) => string;
}

/** Makes the image host available to clients of other services, through the intake of its own upload route. */
export function createHost({ service, intake, contextOf, baseOf }: HostOptions): Host {
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

  /** The client will not get these links, so nobody could delete the images. */
  async function takeBack(stored: readonly Uploaded[]): Promise<void> {
    for (const { image, deleteToken: token } of stored) {
      await service.remove(image.id, { peer: null, token, admin: false }).catch(() => {});
    }
  }

  const store: Host['store'] = async (request, taking) => {
    const base = baseOf(request);
    const { outcomes, fields } = await intake.take(request, taking);
    const stored = outcomes.flatMap((outcome) => ('uploaded' in outcome ? [outcome.uploaded] : []));
    const failed = outcomes.find((outcome) => 'fault' in outcome);
    if (failed) {
      await takeBack(stored);
      throw failed.fault;
    }
    return { shared: stored.map((uploaded) => share(base, uploaded)), fields };
  };

  return {
    store,

    async storeOne(request, taking) {
      const [only] = (await store(request, taking)).shared;
      if (!only) throw new Error('a shape that asks for a picture was answered without one');
      return only;
    },

    async remove(request, named, token = null) {
      const [, id = '', ownToken] = NAMED.exec(named) ?? [];
      const deleter = deleterOf(request, contextOf(request));
      // Any page that shows a picture can send a GET, so only the token in it counts.
      const peer = request.method === 'GET' ? null : deleter.peer;
      await service.remove(id, { ...deleter, peer, token: ownToken ?? token ?? deleter.token });
    },

    onlyLooks: (request) => contextOf(request).head,

    judgeToken: (request, token) => contextOf(request).judgeToken(token),
  };
}
