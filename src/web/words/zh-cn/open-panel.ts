import type { Words } from '../en.ts';

export const openPanel: Words['openPanel'] = {
  title: '本服务器对外开放的内容',
  lead: '只有你能看到此面板，因为你就在这台机器上，或持有管理员令牌。要关闭某一项，请在 .env 中加入对应的一行。',
  items: {
    administrator: '未设置管理员令牌：任何人都可以启动刷新或清理，也没有人能管理内容。',
    upload: '任何能访问服务器的人都可以上传。',
    listing: '上传的图片会出现在公开图库中。',
    deletion: '从上传图片的 IP 地址访问时，无需删除令牌即可删除图片。',
    public_url: '链接使用每个请求中的主机名。',
    trusted_proxies: '未信任任何反向代理：如果前面有代理，所有访问者会共用它的 IP 地址。',
  },
  setting: '设置',
  hide: '隐藏',
};
