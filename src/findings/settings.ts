import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Config } from '../config.ts';
import { unreadable } from '../errors.ts';
import * as en from '../web/words/en.ts';
import { type Finding, fail, warn } from './finding.ts';
import { has, isWritable } from './system.ts';

/**
 * Returns what these settings leave open, most important first, with the line for `.env` that closes it as the
 * advice. `newToken` creates a token to suggest.
 */
export function openFindings(config: Config, newToken: () => string): Finding[] {
  const texts = en.openPanel.items;
  const images = config.SERVICES.includes('image');
  const items: [open: boolean, about: keyof typeof texts, advice: string][] = [
    [config.ADMIN_TOKEN === undefined, 'administrator', `ADMIN_TOKEN=${newToken()}`],
    [images && config.UPLOAD === 'open', 'upload', 'UPLOAD=token'],
    [images && config.IMAGE_LISTING === 'public', 'listing', 'IMAGE_LISTING=unlisted'],
    [images && config.IMAGE_DELETE_BY_ADDRESS !== 0, 'deletion', 'IMAGE_DELETE_BY_ADDRESS=off'],
    [config.PUBLIC_URL === undefined, 'public_url', 'PUBLIC_URL=https://img.example.com'],
    [
      config.TRUSTED_PROXIES === undefined && !config.HOST.startsWith('unix:'),
      'trusted_proxies',
      'TRUSTED_PROXIES=loopback',
    ],
  ];
  return items.flatMap(([open, about, advice]) =>
    open ? [{ level: 'open', about, text: texts[about], advice }] : [],
  );
}

/** Settings that name files without which the server does not start. */
const NEEDED = ['TERMS', 'BLOCK_HASHES', 'PROXY_JUDGE_CA', 'PROXY_COUNTRY_DB'] as const;

/** Returns which files of the settings cannot be used. */
export async function fileFindings(config: Config): Promise<Finding[]> {
  const missing = NEEDED.map(async (name) => {
    const path = config[name];
    if (path !== undefined) await readStart(path).catch(unreadable(name, path));
    return [];
  });
  const found = missing.map((look) => look.catch(({ message }: Error) => [fail(message)]));
  return (await Promise.all([...found, auditLogFindings(config, false)])).flat();
}

/** Rejects for a folder as well, which containers make where a file to mount is missing. */
async function readStart(path: string): Promise<void> {
  const file = await open(path);
  await file.read(Buffer.alloc(1), 0, 1).finally(() => file.close());
}

/**
 * Returns whether lines cannot be appended to the file of `AUDIT_LOG`: nothing else would say so before the first act. The
 * server creates it; `doctor` does not, because it may run as another user.
 */
export async function auditLogFindings(
  { AUDIT_LOG: path = '' }: Pick<Config, 'AUDIT_LOG'>,
  mayCreate = true,
): Promise<Finding[]> {
  if (!path.startsWith('/')) return [];
  const isFit = mayCreate || (await has(path)) ? await isAppendable(path) : await isWritable(dirname(path));
  return isFit ? [] : [warn('AUDIT_LOG names a file that lines cannot be appended to.')];
}

/** Opens it as for an act. */
async function isAppendable(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'a+', 0o600);
    const found = await file.stat().finally(() => file.close());
    return found.isFile();
  } catch {
    return false;
  }
}
