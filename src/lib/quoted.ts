import { remember } from './remember.ts';

const MAX_TEXTS = 2000;
const MAX_LENGTH = 200;

/** Returns a text as JSON. For texts that return often, such as the paths of requests. */
export const quoted = remember(MAX_TEXTS, (text) => JSON.stringify(text), MAX_LENGTH);
