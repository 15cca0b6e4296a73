import type { Plural } from '../formats.ts';
import { uploadScripts } from './upload-scripts.ts';

/**
 * Texts of the pages' scripts, by the file that a page loads; `every` is on each page. A name in braces is replaced
 * by the script: `{name}`. A text with a number is a `Plural`, with `#` in place of the number.
 */
export const scripts = {
  every: {
    unreachable: 'The server cannot be reached.',
    errorStatus: 'The server responded with error {status}.',
    needsToken: 'This requires a valid token.',
    forbidden: 'The server does not allow this.',
    notThere: 'It no longer exists.',
    underWay: 'Another operation is in progress. Try again in a moment.',
    tooMany: 'Too many requests. Try again in a moment.',
    notNow: 'The server is busy. Try again in a moment.',
    noSpace: 'The server has no space left.',
  },
  'proxies.js': {
    testing: 'Testing…',
  },
  'live.js': {
    refreshStarted: 'Refresh started.',
    refreshEnded: 'Refresh finished.',
    refreshedRecently: 'Refreshed a moment ago',
    retried: 'Will be retried',
  },
  'selection.js': {
    copySelected: { other: 'Copy # selected' },
    selected: { other: '# selected' },
  },
  'copy.js': {
    copied: 'Copied',
    notCopied: 'Not copied',
    copyFailed: 'This browser does not allow copying.',
  },
  'gallery.js': {
    added: { one: '# more picture.', other: '# more pictures.' } as Plural,
    loading: 'Loading…',
    notLoaded: 'Could not load. Try again',
  },
  'undo.js': {
    undoBar: 'Deletion',
    undo: 'Undo',
    deletedMany: { one: 'Picture deleted.', other: '# pictures deleted.' } as Plural,
    deletedUndo: '{words} You can undo this for 8 seconds.',
    undone: { one: 'The picture is back.', other: '# pictures are back.' } as Plural,
  },
  'share.js': {
    link: 'link',
    directLink: 'direct link',
    thumbnail: 'linked thumbnail ({form})',
    copyWhat: 'Copy {what}',
    copyWhatOf: 'Copy {what} of {name}',
    copyAs: 'What to copy',
    share: 'Share…',
    qrCode: 'QR code',
    qrCodeOf: 'QR code of the link to {name}',
    close: 'Close',
    inGallery: 'In gallery',
    inGalleryOf: 'Show {name} in the gallery',
    seenByAll: 'Public, in the gallery',
    seenByLink: 'Anyone with the link',
  },
  'image.js': {
    saving: 'Saving…',
    saved: 'Saved.',
  },
  'docs.js': {
    exampleFor: 'Example for {language}',
    found: { one: '# operation found', other: '# operations found' } as Plural,
    nothingFound: 'No operations match.',
    sending: 'Sending…',
    answered: '{status} in {ms} ms, {type}',
    noBody: 'no body',
    notSent: 'Not sent: {why}',
    response: 'Response',
    picture: 'The picture in the response',
    cut: '… {size} in total',
  },
  'upload.js': uploadScripts,
};
