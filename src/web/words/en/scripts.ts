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
  'image.js': {
    close: 'Close',
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
  'album-edit.js': {
    edit: 'Edit album',
    done: 'Done',
    title: 'Title',
    untitled: 'Album',
    add: 'Add pictures',
    howToMove: 'Drag the pictures, or focus one and press the arrow keys. Changes are saved at once.',
    saved: 'Saved.',
    movedTo: 'Picture {place} of {total}.',
    moveOf: 'Move {name}',
    locked: 'Protected picture',
    cover: 'Cover',
    coverOf: 'Make {name} the cover',
    delete: 'Delete',
    deleteOf: 'Delete {name}, which a guest has added',
    invite: 'Invite guests',
    invited: 'Guests: {used} of {max} pictures, until {day}',
    copyInvite: 'Copy link for guests',
    showCode: 'Show QR code',
    revoke: 'Revoke',
    remove: 'Remove',
    removeOf: 'Remove {name} from the album',
  },
  'upload.js': uploadScripts,
};
