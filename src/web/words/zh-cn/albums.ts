import type { Words } from '../en.ts';

export const albums: Words['albums'] = {};
