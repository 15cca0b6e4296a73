import { randomBytes } from 'node:crypto';
import { openDoors } from '../start/open-doors.ts';
import { en } from '../web/words/en.ts';
import type { Finding, Patient } from './doctor-finding.ts';

/**
 * Lists what the settings leave open to everyone. That is fine on a private machine, and should be read before
 * exposing it.
 */
export async function checkOpenDoors({ config }: Patient): Promise<Finding[]> {
  const doors = openDoors(config, () => randomBytes(24).toString('base64url'));
  if (doors.length === 0) return [{ state: 'ok', text: 'nothing that a setting could close' }];
  return doors.map(({ door, setting }) => ({
    state: 'open',
    text: en.openPanel.doors[door],
    advice: setting,
  }));
}
