import { createFormats } from '../formats.ts';

export const formats = createFormats('zh-CN', '刚刚');
