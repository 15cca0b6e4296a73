import { parseConfig } from '../../../src/config.ts';
import { openWeb } from '../../../src/start/web.ts';

/** What pages share, with both services at the root unless a base path is given. */
export const openTestWeb = (IMAGE_BASE_PATH = '') => openWeb(parseConfig({ IMAGE_BASE_PATH }));
