import { randomBytes } from 'node:crypto';
import { type Door, openDoors } from '../start/open-doors.ts';
import type { Finding, Patient } from './doctor-finding.ts';

const WORDS: Record<Door, string> = {
  administrator:
    'there is no administrator: anyone can start a refresh or a cleanup, and nobody can moderate',
  upload: 'anyone who reaches the server can upload',
  listing: 'uploads appear in the public gallery',
  deletion: "a picture can be deleted from its uploader's address, without the delete token",
  public_url: 'links follow the host name that a visitor uses',
  trusted_proxies: 'no reverse proxy is trusted: behind one, all visitors would share its address',
};

/** What the settings leave open to everybody. Fine on a machine of one's own; to be read before strangers reach it. */
export async function checkOpenDoors({ config }: Patient): Promise<Finding[]> {
  const doors = openDoors(config, () => randomBytes(24).toString('base64url'));
  if (doors.length === 0) return [{ state: 'ok', text: 'nothing that a setting could close' }];
  return doors.map(({ door, setting }) => ({ state: 'open', text: WORDS[door], advice: setting }));
}
