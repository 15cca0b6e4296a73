import type { Words } from './en.ts';
import { admin, reports } from './zh-cn/admin.ts';
import { api } from './zh-cn/api.ts';
import { errors } from './zh-cn/errors.ts';
import { formats } from './zh-cn/formats.ts';
import { frame, openPanel } from './zh-cn/frame.ts';
import { albums, gallery, guests, pictures } from './zh-cn/pictures.ts';
import { proxies } from './zh-cn/proxies.ts';
import { scripts } from './zh-cn/scripts.ts';
import { integrations, upload } from './zh-cn/upload.ts';

/** All texts of the pages in Simplified Chinese. */
export const zhCn: Words = {
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
