import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Config } from '../config.ts';
import { unreadable } from '../errors.ts';
import { openFindings } from '../findings/settings.ts';
import type { Route } from '../http/route.ts';
import { VERSION } from '../version.ts';
import { readAssets } from '../web/assets.ts';
import { contactRoutes } from '../web/contact-routes.ts';
import type { WebRoutesOptions } from '../web/routes.ts';
import { createSites, type NavLink } from '../web/site.ts';

/** What all pages share. */
export type Web = Omit<WebRoutesOptions, 'sections'>;

/** Reads the files that pages load, and knows which pages exist with these settings. */
export async function openWeb(config: Config): Promise<Web> {
  const { SERVICES, PROXY_BASE_PATH, IMAGE_BASE_PATH, IMAGE_LISTING, ABUSE_CONTACT, PUBLIC_URL } = config;
  const path = PUBLIC_URL === undefined ? '' : new URL(PUBLIC_URL).pathname.replace(/(?<!\/)\/+$/, '');
  const links: NavLink[] = [];
  if (SERVICES.includes('image')) links.push({ href: `${path}/`, name: 'upload' });
  if (SERVICES.includes('image') && IMAGE_LISTING !== 'off')
    links.push({ href: `${path}${IMAGE_BASE_PATH}/gallery`, name: 'gallery' });
  if (SERVICES.includes('proxy')) links.push({ href: `${path}${PROXY_BASE_PATH}/proxies`, name: 'proxies' });
  links.push({ href: `${path}/docs`, name: 'api' });
  const assets = await readAssets();
  const integrations = SERVICES.includes('image') ? `${path}${IMAGE_BASE_PATH}/integrations` : undefined;
  const siteOf = createSites({
    assets,
    links,
    version: VERSION,
    path,
    integrations,
    abuseContact: ABUSE_CONTACT,
  });
  const newToken = () => randomBytes(24).toString('base64url');
  const canShare = SERVICES.includes('image') && config.UPLOAD !== 'token';
  const shareTo = canShare ? `${path}${IMAGE_BASE_PATH}/share` : null;
  const first = links[0]?.href ?? path;
  return { assets, path, siteOf, first, shareTo, openFindings: () => openFindings(config, newToken) };
}

/** Returns the pages about the operator, if `ABUSE_CONTACT` is set. Rejects if `TERMS` cannot be read. */
export async function openContact(
  { ABUSE_CONTACT: contact, TERMS }: Pick<Config, 'ABUSE_CONTACT' | 'TERMS'>,
  { siteOf, path }: Pick<Web, 'siteOf' | 'path'>,
): Promise<Route[]> {
  const terms = TERMS === undefined ? '' : await readFile(TERMS, 'utf8').catch(unreadable('TERMS', TERMS));
  return contact === undefined ? [] : contactRoutes({ siteOf, path, contact, terms, now: Date.now });
}
