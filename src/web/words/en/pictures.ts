import { type Html, html } from '../../html.ts';
import type { Plural } from '../formats.ts';
import { formats } from './formats.ts';

/** The pages of single pictures, and their deletion. */
export const pictures = {
  summary: (name: string, width: number, height: number) => `${name}, ${width} × ${height} pixels.`,
  /** By code of the warning. */
  losses: {
    frames_dropped: 'Only the first picture was kept. WebP keeps animations.',
    gain_map_dropped: 'The extra brightness for HDR screens was not kept.',
    truncated: 'The file was incomplete. Everything readable was kept.',
    metadata_dropped: 'Some of the metadata was not kept.',
    provenance_dropped: 'The Content Credentials (C2PA) were not kept.',
    resized: 'The picture was scaled down to the size limit.',
    larger: 'The picture takes more bytes in this format than your file did.',
    not_in_album: 'The picture was stored, but not added to the album, which may be full.',
  },
  dimensions: 'Dimensions',
  fileSize: 'File size',
  format: 'Format',
  frames: (count: number) => formats.plural(count, { one: '# frame', other: '# frames' }),
  uploaded: 'Uploaded',
  visibleTo: 'Visible to',
  audiences: {
    public: 'Everyone',
    unlisted: 'Anyone with the link',
    protected: 'Anyone with the password',
  },
  expires: 'Expires',
  never: 'Never',
  takenWith: 'Camera details',
  camera: 'Camera',
  lens: 'Lens',
  exposure: 'Exposure',
  aperture: 'Aperture',
  iso: 'ISO',
  focalLength: 'Focal length',
  taken: 'Taken',
  place: 'Location',
  placeKept: 'Stored in the file',
  placeExposed: 'Everyone can see where it was taken',
  edit: 'Edit',
  title: 'Title',
  alt: 'Alternative text',
  altHint: 'What the picture shows',
  filename: 'File name',
  newPassword: 'New password',
  viewsOf: (left: number, most: number) => `${formats.number(left)} of ${formats.number(most)} views left`,
  download: 'Download',
  share: 'Share',
  page: 'Page',
  directLink: 'Direct link',
  markdown: 'Markdown',
  html: 'HTML',
  bbcode: 'BBCode',
  embedProtected:
    'Other sites cannot show this picture: it opens only for visitors who enter its password here.',
  embedExpires: 'Other sites can show it until it expires.',
  around: 'More pictures',
  newer: 'Newer',
  older: 'Older',
  fullSize: 'View full size',
  viewsLeft: (count: number) =>
    formats.plural(count, {
      one: 'This picture can be viewed # more time. Showing it uses up that view.',
      other: 'This picture can be viewed # more times. Showing it uses up one of them.',
    }),
  deleteTitle: 'Delete picture',
  deleteQuestion: 'Delete this picture?',
  deleteWarning: (name: Html) =>
    html`${name} will be gone for everyone, and links to it will stop working. This cannot be undone.`,
  delete: 'Delete',
  keep: 'Keep it',
  deleted: 'Picture deleted',
  deletedNote: 'It is gone from this server. Copies in caches may last a little longer.',
  uploadAnother: 'Upload another',
  passwordTitle: 'Password required',
  passwordQuestion: 'This picture is protected by a password',
  password: 'Password',
  wrongPassword: 'Wrong password.',
  tooManyGuesses: (time: string) => `Too many wrong passwords. Try again in ${time}.`,
  showPicture: 'Show picture',
};

/** The gallery. */
export const gallery = {
  summary: 'Public pictures on this server, newest first.',
  shareOf: (name: string) => `Share ${name}`,
  search: 'Search titles and names',
  show: 'Search',
  pictures: (count: number) => formats.plural(count, { one: '# public picture', other: '# public pictures' }),
  foundFor: (count: number, text: string) =>
    `${formats.plural(count, { one: '# picture', other: '# pictures' })} for “${text}”`,
  foundMore: (count: number, text: string) => `More than ${formats.number(count)} pictures for “${text}”`,
  newest: 'Back to the newest',
  more: 'More pictures',
  none: 'No pictures match.',
  empty: 'No public pictures yet.',
  uploadFirst: 'Upload the first one.',
};

/** The page on which guests add pictures to an album. */
export const guests = {
  title: (album: string) => `Add pictures to ${album}`,
  lead: 'Add your photos to this album.',
  add: 'Add your photos',
  left: { one: '# more picture', other: '# more pictures' } as Plural,
  note: (left: string, until: string) =>
    `This invitation allows ${left}, until ${until}. Location, time, and camera details are removed.`,
  passOn: 'Let others scan this',
  code: 'QR code of this page',
  seeAlbum: 'View the album',
};

/** Albums. */
export const albums = {
  untitled: 'Album',
  pictures: { one: '# picture', other: '# pictures' } as Plural,
  locked: {
    one: '# picture needs a password. Open it once, then come back.',
    other: '# pictures need a password. Open each once, then come back.',
  } as Plural,
  downloadAll: 'Download all',
  downloadSome: (some: string, all: string) => `Download ${some} of ${all}`,
  empty: 'No pictures here yet.',
  noSuchPage: 'This album has fewer pages.',
  link: 'Link to this album',
  lockedTile: 'Protected',
  lockedFacts: 'Password required',
  viewsLeft: { one: '# view left', other: '# views left' } as Plural,
};
