import { recordsAdapter } from '../../adapters/registry.ts';
import type { Patient } from './doctor-finding.ts';
import { EXIT, type ExitCode, usageError } from './exit.ts';
import { formatCount } from './format.ts';
import type { Terminal } from './terminal.ts';

/** Repairs the store of the records, and reports the result. */
export async function repair({ config, runtime }: Patient, terminal: Terminal): Promise<ExitCode> {
  const adapter = recordsAdapter(config.METADATA_URL);
  if (!adapter.repair || adapter.path(config.METADATA_URL) === null) {
    throw usageError('Only a database file can be repaired.');
  }
  const { rows, torn, kept } = await adapter.repair(config.METADATA_URL, { runtime });
  const counts = Object.entries(rows).map(([name, count]) => `${name} ${formatCount(count)}`);
  await terminal.print(`read: ${counts.join(', ')}\nthe damaged file is ${kept}\n`);
  if (torn.length > 0) terminal.say(`Could not be read completely: ${torn.join(', ')}.`);
  return EXIT.done;
}
