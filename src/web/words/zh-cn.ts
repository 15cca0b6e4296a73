// All texts of the pages in Simplified Chinese.
export * from './zh-cn/admin.ts';
export * from './zh-cn/api.ts';
export * from './zh-cn/errors.ts';
export * from './zh-cn/formats.ts';
export * from './zh-cn/frame.ts';
export * from './zh-cn/pictures.ts';
export * from './zh-cn/proxies.ts';
export * from './zh-cn/scripts.ts';
export * from './zh-cn/upload.ts';
