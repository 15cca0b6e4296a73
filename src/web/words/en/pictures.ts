import { type Html, html } from '../../html.ts';
import { formats } from './formats.ts';

/** The pages of single pictures, and of deleting one. */
export const pictures = {
  summary: (name: string, width: number, height: number) => `${name}, ${width} × ${height} pixels.`,
  online: 'Your picture is online',
  keepDeleteLink: 'Save this link to delete the picture later from any device. It is shown only once.',
  /** By the codes of warnings. */
  losses: {
    frames_dropped: 'Only the first frame was kept: this format holds no animation.',
    gain_map_dropped: 'The extra brightness for HDR screens was not kept.',
    truncated: 'The file was incomplete. What was there has been kept.',
    metadata_dropped: 'Some metadata was not kept: this format cannot hold it.',
    not_in_album: 'The picture was stored, but not added to the album.',
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
  download: 'Download',
  lockAgain: 'Lock again',
  share: 'Share',
  page: 'Page',
  directLink: 'Direct link',
  markdown: 'Markdown',
  html: 'HTML',
  bbcode: 'BBCode',
  deleteLink: 'Delete link',
  embedProtected:
    'Other sites cannot show this picture: it opens only for visitors who enter its password here.',
  embedExpires: 'Other sites show it until it expires.',
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
  deletedNote: 'It is gone from this server. Copies in other caches may last a little longer.',
  uploadAnother: 'Upload another',
  passwordTitle: 'Password required',
  passwordQuestion: 'This picture is protected by a password',
  password: 'Password',
  wrongPassword: 'Wrong password.',
  tooManyGuesses: (time: string) => `Too many wrong passwords. Try again in ${time}.`,
  showPicture: 'Show picture',
};
