import type { Words } from '../en.ts';

export const upload: Words['upload'] = {};
