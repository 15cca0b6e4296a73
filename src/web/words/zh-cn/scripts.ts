import type { Words } from '../en.ts';

export const scripts: Words['scripts'] = {
  every: {
    unreachable: '无法连接服务器。',
    errorStatus: '服务器返回错误 {status}。',
  },
  'copy.js': {
    copied: '已复制',
    notCopied: '复制失败',
    copyFailed: '此浏览器不允许复制。',
  },
  'image.js': {
    close: '关闭',
  },
};
