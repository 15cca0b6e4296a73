import { type Html, html } from '../../html.ts';
import type { Plural } from '../formats.ts';

/** The upload form, and its results. */
export const upload = {
  title: 'Drop a picture, get a link.',
  lead: 'Ready for the web, the right way up, and with your location removed.',
  promises: [
    'Location, time, and camera details are removed',
    'Links for chats, Markdown, HTML, and forums',
    'Public, link only, or behind a password',
    'Delete it any time, no account needed',
  ],
  summary: 'Upload a picture and get a link to share.',
  uploads: 'Uploads',
  addMore: 'Add more',
  copyAll: 'Copy all',
  makeAlbum: 'Make an album',
  mine: 'From this browser',
  mineNote: 'This list and its delete tokens are stored only in this browser.',
  forget: 'Clear this list',
  myAlbums: 'My albums',
  myAlbumsNote: 'The tokens that change them are stored only in this browser.',
  otherDevice: 'My pictures on another device',
  otherDeviceNote:
    'A link or a file carries the list of your pictures and albums with their tokens. It lets its holder change and delete them.',
  listLink: 'Make a link for 10 minutes',
  listSave: 'Save as file',
  listLoad: 'Load a file',
  latest: 'Latest pictures',
  allPublic: 'All public pictures',
  choose: 'Choose pictures',
  dropOrPaste: (keys: Html) => html`or drop them here, or paste with ${keys}`,
  dropOrPasteUrl: (keys: Html) => html`or drop them here, or paste a picture or its address with ${keys}`,
  limits: (formats: string, size: string) => `${formats}, up to ${size} each.`,
  chosenAreSent: 'Then upload them with this button.',
  upload: 'Upload',
  token: 'Token',
  tokenNeeded: 'Uploading here requires a token, which the operator gives you.',
  whoSeesIt: 'Who can see it',
  seenBy: {
    public: 'Everyone: it appears in the gallery',
    unlisted: 'Anyone with the link',
    protected: 'Anyone with the link and the password',
  },
  password: 'Password',
  expires: 'Expires after',
  whenUnopened: (time: string) => `${time} without a view`,
  views: 'Views',
  unlimited: 'Any',
  options: 'More options',
  format: 'Format',
  formats: {
    webp: 'WebP: small, works everywhere',
    jpeg: 'JPEG',
    png: 'PNG: for drawings and screenshots',
    avif: 'AVIF: smallest, slower to convert',
    gif: 'GIF',
    auto: 'Keep the format',
  },
  maxWidth: 'Maximum width',
  maxHeight: 'Maximum height',
  pixels: (count: string) => `${count} pixels`,
  keepMetadata: 'Keep location, time, and camera details (EXIF)',
  uploadedTitle: 'Uploaded',
  picturesUploaded: { one: '# picture uploaded', other: '# pictures uploaded' } as Plural,
  keepDeleteLinks:
    'Save the delete links if you may want to delete these pictures later. They are shown only once.',
  uploadMore: 'Upload more',
  fileNumber: (number: string) => `File ${number}`,
  inReview: 'The operator reviews it first. Its links work once it is approved.',
  page: 'Link',
  deleteLink: 'Delete link',
};

/** How other programs upload here. */
export const integrations = {
  title: 'Upload from other programs',
  lead: 'Copy what a program asks for, or open the file with it. The address of this server is filled in.',
  token:
    'Uploading here needs a token: where it says YOUR-TOKEN, enter yours. If this browser knows it, it is filled in.',
  file: 'Download the settings',
  sharex: 'Open the file: ShareX adds this server to its custom uploaders.',
  flameshot: 'Takes a screenshot, uploads it and copies the link. Bind the command to a key.',
  picgo: 'Choose Lsky Pro, in PicGo through the plugin lankong. Pictures can be deleted in the album.',
  typora: 'In the settings under Image, choose Custom Command as the image uploader.',
  obsidian: 'In the settings of the plugin Image auto upload, switch on the remote server mode.',
  shortcuts:
    'Add “Get Contents of URL” with the method POST, a form as the request body, and the shortcut input as its file “image”. The field raw_url of the answer is the link.',
  chevereto:
    'Programs for these services work once their address is replaced. Any key will do where none is needed.',
  curl: 'Prints the links as JSON.',
};
