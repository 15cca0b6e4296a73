import { Type } from '@sinclair/typebox';
import { type Call, type Caller, json, type Route, route } from '../../http/route.ts';
import { unkept } from '../../http/unkept.ts';
import { text } from '../../lib/schema.ts';
import { pageResponse } from '../../web/page-response.ts';
import type { SiteOf } from '../../web/site.ts';
import type { Pages } from '../pages/pages.ts';
import { guestPage } from '../pages/upload-form.ts';
import { PRIVATE_CACHE } from '../serve/serve.ts';
import type { ImageService } from '../service.ts';
import { createUploads, type Intake } from '../upload/intake.ts';
import { createGuestJoining, keeperOf } from '../upload/joining.ts';
import type { Albums } from './albums.ts';
import { albumDetails } from './descriptions.ts';
import { invitesView, inviteView } from './views.ts';
import { type InviteWish, inviteBody } from './wishes.ts';

const keyQuery = Type.Object({
  k: text('The key of the invitation.', { maxLength: 100 }),
});

interface GuestRoutesOptions {
  albums: Pick<Albums, 'invites'>;
  service: Pick<ImageService, 'limits' | 'takeBack'>;
  intake: Intake;
  pages: Pick<Pages, 'uploaded'>;
  siteOf: SiteOf;
  /** Path under which browsers reach the routes, for links. */
  basePath: string;
}

type OfAlbum = { params: { id: string } };
type ByKey = { params: { file: string }; query: typeof keyQuery };

/** Invitations to albums, and what they open: one page, from which guests add pictures. */
export function guestRoutes({
  albums,
  service,
  intake,
  pages,
  siteOf,
  basePath,
}: GuestRoutesOptions): Route[] {
  const { invites } = albums;
  const urlOf = ({ context }: Caller, id: string, key: string) =>
    `${context.origin}${basePath}/a/${id}/add?k=${key}`;

  async function create(call: Call<OfAlbum & { body: InviteWish }>): Promise<Response> {
    const { context, params, body } = call;
    const holder = context.holder?.id ?? (context.admin ? 'admin' : '');
    const { invite, key } = await invites.create(params.id, body, { ...keeperOf(call), holder });
    const view = { success: true, ...inviteView(invite), url: urlOf(call, params.id, key) };
    return unkept(view, 201);
  }

  async function show(call: Call<ByKey>): Promise<Response> {
    const { params, query, request } = call;
    const opened = await invites.open(params.file, query.k);
    const site = siteOf(request);
    const page = guestPage(site, {
      ...opened,
      basePath,
      url: urlOf(call, opened.album.id, query.k),
      limits: service.limits,
    });
    return pageResponse(site, page, { cache: PRIVATE_CACHE, headers: [['x-robots-tag', 'noindex']] });
  }

  /** As uploads of our own, but the answer without scripts leads back to the page of the invitation. */
  function add(call: Call<ByKey>): Promise<Response> {
    const { file, k } = { ...call.params, ...call.query };
    const joining = createGuestJoining(invites, service.takeBack, [file, k]);
    const back = `${basePath}/a/${file}/add?k=${encodeURIComponent(k)}`;
    const answer = createUploads({ intake, pages, basePath, guest: { joining, back } });
    return answer(call);
  }

  return [
    route('POST /api/albums/:id/invites', create, {
      body: json(inviteBody),
      limit: 'upload',
      about: albumDetails.invite,
    }),
    route(
      'GET /api/albums/:id/invites',
      async (call) => unkept(invitesView(await invites.list(call.params.id, keeperOf(call)))),
      { about: albumDetails.invites },
    ),
    route(
      'DELETE /api/albums/:id/invites/:invite',
      async (call) =>
        unkept(invitesView(await invites.revoke(call.params.id, call.params.invite, keeperOf(call)))),
      { about: albumDetails.revoke },
    ),
    route('GET /a/:file/add', show, { query: keyQuery, about: albumDetails.guestPage }),
    route('POST /a/:file/add', add, {
      query: keyQuery,
      limit: 'upload',
      bytes: 'upload_bytes',
      ownToken: true,
      about: albumDetails.addAsGuest,
    }),
  ];
}
