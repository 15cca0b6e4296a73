import type { Words } from '../words.ts';
import { messages } from './messages.ts';

export const errors: Words['errors'] = {
  byCode: {
    invalid_parameter: { title: '请检查输入内容', advice: '请返回修改。' },
    invalid_body: { title: '请检查输入内容', advice: '请返回修改。' },
    unauthorized: { title: '需要令牌', advice: '令牌由本服务器的管理员发放。' },
    conflict: { title: '目前无法执行此操作', advice: '请返回并重新加载页面。' },
    not_found: {
      title: '页面不存在',
      advice: '请检查链接是否有误。如果以前能打开，说明内容已被删除。',
    },
    gone: { title: '图片已失效', advice: '如仍需要，请索取新的链接。' },
    forbidden: { title: '没有权限', advice: '需要正确的链接或令牌，且地址未被屏蔽。' },
    rate_limited: { title: '请求过于频繁', advice: '服务器限制了每个 IP 地址的请求数量。' },
    busy: { title: '服务器繁忙', advice: '服务器正在满负荷运行。' },
    unavailable: { title: '暂时不可用', advice: '服务器的某个组件没有响应，应该很快会恢复。' },
    storage_full: { title: '存储空间已满', advice: '腾出空间后即可继续上传。' },
    too_large: { title: '文件太大', advice: '请选择小一些的文件。' },
    not_an_image: { title: '不支持此文件类型', advice: '请选择常见格式的图片。' },
    undecodable_image: { title: '图片已损坏', advice: '无法读取该图片。请重新保存，或换一张图片。' },
    image_limit: { title: '图片像素过多', advice: '图片的尺寸或帧数超出了服务器的限制。' },
    conversion_timeout: { title: '图片转换超时', advice: '请选择小一些的图片，或换一种格式。' },
    internal: { title: '出错了', advice: '服务器内部出错，已记录到日志中。' },
    other: { title: '操作失败', advice: '' },
  },
  messages,
  file: '文件',
  faultyField: (label, rule) => `${label}：${rule}`,
  wrongField: (label) => `“${label}”的值无效。`,
  tryAgainIn: (time) => `请在${time}后重试。`,
  home: '返回首页',
  request: (status) => `错误 ${status}，请求编号`,
};
