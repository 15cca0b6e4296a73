import type { Config } from '../config.ts';
import { en } from '../web/words/en.ts';
import type { Finding } from './finding.ts';

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
