import type { Words } from '../en.ts';

export const albums: Words['albums'] = {
  untitled: '相册',
  pictures: { other: '# 张图片' },
  locked: { other: '有 # 张图片需要密码。请逐张输入密码打开，再返回此处。' },
  downloadAll: '全部下载',
  downloadSome: (some, all) => `下载 ${all} 张中的 ${some} 张`,
  empty: '还没有图片。',
  noSuchPage: '此相册没有这一页。',
  link: '相册链接',
  lockedTile: '受密码保护',
  lockedFacts: '需要密码',
  viewsLeft: { other: '还可查看 # 次' },
};
