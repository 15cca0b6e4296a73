// All texts of the pages in English. The other languages have the same shape: the compiler reports a missing key.
export * from './en/admin.ts';
export * from './en/api.ts';
export * from './en/errors.ts';
export * from './en/formats.ts';
export * from './en/frame.ts';
export * from './en/pictures.ts';
export * from './en/proxies.ts';
export * from './en/scripts.ts';
export * from './en/upload.ts';
