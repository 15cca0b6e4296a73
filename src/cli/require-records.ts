import { access } from 'node:fs/promises';
import { recordsAdapter } from '../../adapters/registry.ts';
import { CommandError } from './exit.ts';

/**
 * Rejects if the records are a file that does not exist: creating an empty database by mistake would store tokens and
 * keys that no server knows.
 */
export async function requireRecords(url: string): Promise<void> {
  const path = recordsAdapter(url).path(url);
  if (path === null) return;
  await access(path).catch(() => {
    throw new CommandError(
      `There is no database at ${path}. Start the server once, or set DATA_DIR to its folder.`,
    );
  });
}
