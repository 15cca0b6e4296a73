import type { Words } from '../en.ts';
import { formats } from './formats.ts';

export const gallery: Words['gallery'] = {
  summary: '本站的公开图片，按上传时间从新到旧排列。',
  search: '按名称、ID 或格式搜索',
  filters: '筛选',
  format: '格式',
  anyFormat: '不限',
  from: '上传起始日期',
  to: '上传截止日期',
  show: '搜索',
  pictures: (count) => `${formats.number(count)} 张公开图片`,
  found: (count) => `找到 ${formats.number(count)} 张图片`,
  foundFor: (count, text) => `“${text}”：${formats.number(count)} 张图片`,
  foundMore: (count, text) => `“${text}”：超过 ${formats.number(count)} 张图片`,
  newestFirst: '按从新到旧排列',
  newest: '回到最新图片',
  more: '更多图片',
  none: '没有符合条件的图片。',
  noneYet: '最新的图片中没有符合条件的，更早的图片尚未搜索。',
  empty: '还没有公开图片。',
  uploadFirst: '来上传第一张吧。',
};
