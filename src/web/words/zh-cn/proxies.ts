import type { Words } from '../en.ts';

export const proxies: Words['proxies'] = {};
