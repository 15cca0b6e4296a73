import type { Words } from '../en.ts';
import { uploadScripts } from './upload-scripts.ts';

export const scripts: Words['scripts'] = {
  every: {
    unreachable: '无法连接服务器。',
    errorStatus: '服务器返回错误 {status}。',
    needsToken: '此操作需要有效的令牌。',
    forbidden: '服务器不允许此操作。',
    notThere: '内容已不存在。',
    underWay: '另一项操作正在进行，请稍后重试。',
    tooMany: '请求过于频繁，请稍后重试。',
    notNow: '服务器繁忙，请稍后重试。',
    noSpace: '服务器存储空间已满。',
  },
  'proxies.js': {
    testing: '检测中…',
  },
  'live.js': {
    refreshStarted: '已开始刷新。',
    refreshEnded: '刷新完成。',
    refreshedRecently: '刚刚刷新过',
    retried: '将会重试',
  },
  'selection.js': {
    copySelected: { other: '复制所选 # 个' },
    selected: { other: '已选 # 个' },
  },
  'copy.js': {
    copied: '已复制',
    notCopied: '复制失败',
    copyFailed: '此浏览器不允许复制。',
  },
  'gallery.js': {
    added: { other: '又加载了 # 张图片。' },
    loading: '加载中…',
    notLoaded: '加载失败，点击重试',
  },
  'image.js': {
    close: '关闭',
  },
  'docs.js': {
    exampleFor: '{language} 示例',
    found: { other: '找到 # 个接口' },
    nothingFound: '没有匹配的接口。',
    sending: '正在发送…',
    answered: '{status}，用时 {ms} 毫秒，{type}',
    noBody: '无响应体',
    notSent: '未能发送：{why}',
    response: '响应',
    picture: '响应中的图片',
    cut: '… 共 {size}',
  },
  'album-edit.js': {
    edit: '编辑相册',
    done: '完成',
    title: '标题',
    untitled: '相册',
    add: '添加图片',
    howToMove: '拖动图片，或选中一张后按方向键。更改会立即保存。',
    saved: '已保存。',
    movedTo: '第 {place} 张，共 {total} 张。',
    moveOf: '移动 {name}',
    locked: '受保护的图片',
    cover: '封面',
    coverOf: '将 {name} 设为封面',
    remove: '移除',
    removeOf: '从相册中移除 {name}',
  },
  'upload.js': uploadScripts,
};
