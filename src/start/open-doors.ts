import type { Config } from '../config.ts';
import type { Door, OpenDoor } from '../web/open-panel.ts';

export type DoorSettings = Pick<
  Config,
  | 'SERVICES'
  | 'IMAGE_LISTING'
  | 'UPLOAD'
  | 'IMAGE_DELETE_BY_ADDRESS'
  | 'ADMIN_TOKEN'
  | 'PUBLIC_URL'
  | 'TRUSTED_PROXIES'
  | 'HOST'
>;

/** Returns what these settings leave open, most important first. `newToken` creates a token to suggest. */
export function openDoors(config: DoorSettings, newToken: () => string): OpenDoor[] {
  const images = config.SERVICES.includes('image');
  const doors: [open: boolean, door: Door, setting: string][] = [
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
  return doors.flatMap(([open, door, setting]) => (open ? [{ door, setting }] : []));
}
