import type { Config } from '../config.ts';
import { VERSION } from '../version.ts';
import { type Assets, readAssets } from '../web/assets.ts';
import { createSites, type NavLink, type SiteOf } from '../web/site.ts';

/** What all pages share. */
export interface Web {
  siteOf: SiteOf;
  /** Path under which browsers reach the server: empty, or that of `PUBLIC_URL`, such as `/pics`. */
  path: string;
  assets: Assets;
}

/** Reads what pages load, and knows which pages there are with these settings. */
export async function openWeb({
  SERVICES,
  PROXY_BASE_PATH,
  IMAGE_BASE_PATH,
  IMAGE_LISTING,
  ABUSE_CONTACT,
  PUBLIC_URL,
}: Pick<
  Config,
  'PUBLIC_URL' | 'SERVICES' | 'PROXY_BASE_PATH' | 'IMAGE_BASE_PATH' | 'IMAGE_LISTING' | 'ABUSE_CONTACT'
>): Promise<Web> {
  const path = PUBLIC_URL === undefined ? '' : new URL(PUBLIC_URL).pathname.replace(/\/+$/, '');
  const links: NavLink[] = [{ href: `${path}/`, name: SERVICES.includes('image') ? 'upload' : 'start' }];
  if (SERVICES.includes('image') && IMAGE_LISTING !== 'off')
    links.push({ href: `${path}${IMAGE_BASE_PATH}/gallery`, name: 'gallery' });
  if (SERVICES.includes('proxy')) links.push({ href: `${path}${PROXY_BASE_PATH}/proxies`, name: 'proxies' });
  links.push({ href: `${path}/docs`, name: 'api' });
  const assets = await readAssets();
  const siteOf = createSites({ assets, links, version: VERSION, path, abuseContact: ABUSE_CONTACT });
  return { assets, path, siteOf };
}
