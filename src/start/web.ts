import type { Config } from '../config.ts';
import { VERSION } from '../version.ts';
import { type Assets, readAssets } from '../web/assets.ts';
import { createSite, type NavLink, type Site } from '../web/site.ts';

/** What all pages share. */
export interface Web {
  site: Site;
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
  const links: NavLink[] = [{ href: `${path}/`, label: SERVICES.includes('image') ? 'Upload' : 'Start' }];
  if (SERVICES.includes('image') && IMAGE_LISTING !== 'off')
    links.push({ href: `${path}${IMAGE_BASE_PATH}/gallery`, label: 'Gallery' });
  if (SERVICES.includes('proxy')) links.push({ href: `${path}${PROXY_BASE_PATH}/proxies`, label: 'Proxies' });
  links.push({ href: `${path}/docs`, label: 'API' });
  const assets = await readAssets();
  return { assets, site: createSite({ assets, links, version: VERSION, path, abuseContact: ABUSE_CONTACT }) };
}
