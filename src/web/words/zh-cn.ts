import type { Words } from './en.ts';
import { albums } from './zh-cn/albums.ts';
import { api } from './zh-cn/api.ts';
import { errors } from './zh-cn/errors.ts';
import { formats } from './zh-cn/formats.ts';
import { frame } from './zh-cn/frame.ts';
import { gallery } from './zh-cn/gallery.ts';
import { openPanel } from './zh-cn/open-panel.ts';
import { pictures } from './zh-cn/pictures.ts';
import { proxies } from './zh-cn/proxies.ts';
import { scripts } from './zh-cn/scripts.ts';
import { upload } from './zh-cn/upload.ts';

/** All texts of the pages in Simplified Chinese. */
export const zhCn: Words = {
  formats,
  frame,
  errors,
  pictures,
  gallery,
  upload,
  albums,
  proxies,
  api,
  openPanel,
  scripts,
};
