import { openWeb } from '../../src/start/web.ts';

/** What pages share, with both services at the root unless a base path is given. */
export const openTestWeb = (IMAGE_BASE_PATH = '') =>
  openWeb({ SERVICES: ['proxy', 'image'], PROXY_BASE_PATH: '', IMAGE_BASE_PATH, IMAGE_LISTING: 'public' });
