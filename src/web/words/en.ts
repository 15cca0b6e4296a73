import { admin, reports } from './en/admin.ts';
import { api } from './en/api.ts';
import { errors } from './en/errors.ts';
import { formats } from './en/formats.ts';
import { frame, openPanel } from './en/frame.ts';
import { albums, gallery, guests, pictures } from './en/pictures.ts';
import { proxies } from './en/proxies.ts';
import { scripts } from './en/scripts.ts';
import { integrations, upload } from './en/upload.ts';

/** All texts of the pages in English. The other languages have the same shape: the compiler reports a missing key. */
export const en = {
  formats,
  frame,
  errors,
  pictures,
  gallery,
  upload,
  integrations,
  albums,
  guests,
  proxies,
  api,
  openPanel,
  admin,
  reports,
  scripts,
};

export type Words = typeof en;
