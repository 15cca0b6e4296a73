import type { Words } from '../words.ts';

export const frame: Words['frame'] = {
  skip: '跳到正文',
  mainNavigation: '主导航',
  nav: {
    upload: '上传',
    gallery: '图库',
    proxies: '代理',
    api: 'API',
  },
  version: (version) => `picpool ${version}`,
  utc: '时间均为 UTC',
  openapi: 'OpenAPI',
  integrations: '其他程序',
  contact: { title: '联系与规则', lead: '举报图片请打开该图片并点击“举报”。其他事宜请联系：' },
  reportAbuse: '举报滥用',
  language: '语言',
  copy: '复制',
  copyWhat: (what) => `复制${what}`,
  pages: '分页',
  previous: '上一页',
  next: '下一页',
  pageOf: (page, pages) => `第 ${page} 页，共 ${pages} 页`,
};

export const openPanel: Words['openPanel'] = {
  title: '本服务器对外开放的内容',
  lead: '只有你能看到此面板，因为你就在这台机器上。要关闭某一项，请在 .env 中加入对应的一行。',
  items: {
    administrator: '未设置管理员令牌：任何人都可以启动刷新或清理，也没有人能管理内容。',
    upload: '任何能访问服务器的人都可以上传。',
    listing: '上传的图片会出现在公开图库中。',
    deletion: '从上传图片的 IP 地址访问时，无需删除令牌即可删除图片。',
    public_url: '链接使用每个请求中的主机名。',
    trusted_proxies: '未信任任何反向代理：如果前面有代理，所有访问者会共用它的 IP 地址。',
  },
  setting: '设置',
};
