import { createFormats } from '../formats.ts';

export const formats = createFormats('en', 'just now');
