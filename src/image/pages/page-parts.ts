import type { SiteOf } from '../../web/site.ts';
import { PRIVATE_CACHE } from '../serve/serve.ts';
import type { ImageService } from '../service.ts';

/** What all pages of images need. */
export interface PagesOptions {
  service: ImageService;
  siteOf: SiteOf;
  basePath: string;
}

export function asCookie(cookie: string): [string, string] {
  return ['set-cookie', cookie];
}

/** Returns the headers of an answer with status 303. */
export function redirectTo(location: string): [string, string][] {
  return [
    ['location', location],
    ['cache-control', PRIVATE_CACHE],
  ];
}
