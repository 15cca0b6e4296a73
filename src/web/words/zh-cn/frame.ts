import type { Words } from '../en.ts';

export const frame: Words['frame'] = {
  skip: '跳到正文',
  mainNavigation: '主导航',
  nav: {
    upload: '上传',
    start: '首页',
    gallery: '图库',
    proxies: '代理',
    api: 'API',
  },
  version: (version) => `picpool ${version} · 时间均为 UTC`,
  openapi: 'OpenAPI',
  reportAbuse: '举报滥用',
  theme: '外观',
  themes: { system: '跟随系统', light: '浅色', dark: '深色' },
  language: '语言',
  copy: '复制',
  copyWhat: (what) => `复制${what}`,
  pages: '分页',
  previous: '上一页',
  next: '下一页',
  offline: {
    title: '当前处于离线状态',
    text: '上传和查看图片需要连接到服务器。',
    again: '重试',
  },
  pageOf: (page, pages) => `第 ${page} 页，共 ${pages} 页`,
};
