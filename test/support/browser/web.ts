import { parseConfig } from '../../../src/config.ts';
import { openWeb } from '../../../src/start/web.ts';
import { createSite } from '../../../src/web/site.ts';
import type { Language } from '../../../src/web/words/languages.ts';

/** What pages share, with both services at the root unless a base path is given. */
export const openTestWeb = (IMAGE_BASE_PATH = '') => openWeb(parseConfig({ IMAGE_BASE_PATH }));

const assets = { url: (name: string) => name, imports: () => [], styles: () => [] };

/** A site without links, whose scripts and styles are only their names. */
export const bareSite = (language: Language = 'en') =>
  createSite({ assets, links: [], version: '1', path: '' }, language);
