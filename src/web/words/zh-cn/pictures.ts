import { html } from '../../html.ts';
import type { Words } from '../en.ts';

export const pictures: Words['pictures'] = {
  deleteTitle: '删除图片',
  deleteQuestion: '要删除这张图片吗？',
  deleteWarning: (name) => html`${name} 将对所有人不可见，链接也会失效。此操作无法撤销。`,
  delete: '删除',
  keep: '保留',
  deleted: '图片已删除',
  deletedNote: '图片已从本服务器删除。其他缓存中的副本可能还会保留一段时间。',
  uploadAnother: '再上传一张',
  passwordTitle: '需要密码',
  passwordQuestion: '此图片受密码保护',
  password: '密码',
  wrongPassword: '密码错误。',
  tooManyGuesses: (time) => `密码错误次数过多，请在${time}后重试。`,
  showPicture: '查看图片',
};
