import { type Html, html } from '../../html.ts';

/** The pages of single pictures, and of deleting one. */
export const pictures = {
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
