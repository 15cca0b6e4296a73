import { Type } from '@sinclair/typebox';
import { integer, listOf, named, nullable, oneOf, text } from '../../lib/schema.ts';
import {
  addresses,
  answer,
  audience,
  exampleAudience,
  exampleFacts,
  exampleHash,
  exampleLinks,
  exampleToken,
  facts,
  MAX_PER_PAGE,
  preview,
  success,
} from '../schemas.ts';
import { MAX_TITLE, MOST_PICTURES } from './album.ts';

const album = {
  id: text('ID of 12 letters and digits.'),
  url: text('Page of the album.'),
  zip_url: text('Link to a ZIP file of the images.'),
  title: text(`At most ${MAX_TITLE} characters. Can be empty.`),
  visibility: oneOf(['public', 'unlisted'], '`public` if search engines may list its page.'),
  cover: nullable(Type.String(), 'ID of the image that was chosen to stand for the album.'),
  created_at: text('`YYYY-MM-DD HH:MM:SS`, UTC.'),
};

const exampleAlbum = {
  id: 'b7Qm2KxP9sLd',
  url: 'https://img.example/a/b7Qm2KxP9sLd',
  zip_url: 'https://img.example/a/b7Qm2KxP9sLd.zip',
  title: 'Harbour in winter',
  visibility: 'unlisted',
  cover: null,
  created_at: '2026-01-31 08:05:09',
};

const total = integer(`Number of images that still exist, at most ${MOST_PICTURES}.`);

export const newAlbumAnswer = answer(
  'NewAlbum',
  {
    success,
    ...album,
    token: text('Needed to add images, change the album and delete it. Returned only here.'),
  },
  { success: true, ...exampleAlbum, token: exampleToken },
);

export const albumFactsAnswer = answer(
  'AlbumFacts',
  { success, ...album, total },
  { success: true, ...exampleAlbum, total: 2 },
);

const open = named(
  'AlbumPicture',
  {
    locked: Type.Literal(false),
    ...facts,
    ...addresses,
    protected: Type.Boolean(),
    ...audience,
    ...preview,
  },
  { description: 'An image that you can see.' },
);
const locked = named(
  'LockedPicture',
  {
    locked: Type.Literal(true),
    id: facts.id,
    url: addresses.url,
    visibility: Type.Literal('protected'),
  },
  { description: 'An image that needs its password first.' },
);

export const albumAnswer = answer(
  'Album',
  {
    success,
    ...album,
    total,
    page: Type.Integer(),
    per_page: integer(`At most ${MAX_PER_PAGE}.`),
    pages: Type.Integer(),
    next: nullable(Type.String(), 'The `cursor` of the next page. null on the last page.'),
    images: listOf(Type.Union([open, locked]), 'The images in order.'),
  },
  {
    success: true,
    ...exampleAlbum,
    total: 2,
    page: 1,
    per_page: MAX_PER_PAGE,
    pages: 1,
    next: null,
    images: [
      {
        locked: false,
        ...exampleFacts,
        url: exampleLinks.url,
        raw_url: exampleLinks.raw_url,
        protected: false,
        ...exampleAudience,
        thumbhash: exampleHash,
      },
      {
        locked: true,
        id: 'Hd83kQpZ1mWc',
        url: 'https://img.example/i/Hd83kQpZ1mWc',
        visibility: 'protected',
      },
    ],
  },
);

const invite = {
  id: text('ID of the invitation, which gives no right.'),
  max: integer('How many images it allows.'),
  used: integer('How many came by it, including those deleted since.'),
  expires_at: text('`YYYY-MM-DD HH:MM:SS`, UTC.'),
};
const exampleInvite = { id: 'Wq4tR8mZc1Xn', max: 100, used: 0, expires_at: '2026-02-07 08:05:09' };

export const newInviteAnswer = answer(
  'NewInvite',
  {
    success,
    ...invite,
    url: text('Page on which guests add images. Returned only here.'),
  },
  {
    success: true,
    ...exampleInvite,
    url: `https://img.example/a/b7Qm2KxP9sLd/add?k=${exampleToken}`,
  },
);

export const invitesAnswer = answer(
  'Invites',
  {
    success,
    invites: listOf(Type.Object(invite), 'Invitations that have not expired.'),
    images: listOf(Type.String(), 'IDs of the images in the album that guests have added.'),
  },
  { success: true, invites: [exampleInvite], images: [exampleFacts.id] },
);

export const albumDeleteAnswer = answer(
  'AlbumDone',
  {
    success,
    id: Type.String(),
    removed_images: integer('Number of images deleted with the album.'),
    kept_images: listOf(Type.String(), "IDs of the album's images that still exist."),
  },
  { success: true, id: exampleAlbum.id, removed_images: 0, kept_images: [exampleFacts.id] },
);
