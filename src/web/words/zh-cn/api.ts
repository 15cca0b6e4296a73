import type { Words } from '../en.ts';

export const api: Words['api'] = {};
