import type { Words } from '../en.ts';

export const gallery: Words['gallery'] = {};
