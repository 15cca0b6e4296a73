import { countOf, readableBytes } from '../lib/format.ts';
import { createClient, serverOptions } from './client.ts';
import { defineCommand } from './command.ts';
import { CommandError, EXIT } from './exit.ts';
import { flag } from './options.ts';

/** The server stops after 20 s and reports that there is more to do. */
const TIMEOUT_MS = 60_000;

export const command = defineCommand({
  about: `Removes the images from a server that have not been opened for IMAGE_RETENTION, and prints
how many there were. If the server has an ADMIN_TOKEN, set the same one here.

After a jump of its clock or a pause of more than a day, the server removes no idle or expired images
until it has run for a day. --confirm says that the clock is right, and ends that. Time in which the
server did not run never counts as idle.`,
  options: {
    ...serverOptions,
    confirm: flag('Says that the clock of the server is right.'),
  },

  async run({ options, env, terminal }) {
    const client = createClient(options.url, env);
    const sum = { removed: 0, freed_bytes: 0 };
    const path = options.confirm ? '/api/cleanup?confirm=true' : '/api/cleanup';
    for (;;) {
      const part = await client.ask(
        'POST',
        path,
        { removed: 'number', freed_bytes: 'number', complete: 'boolean' },
        { timeoutMs: TIMEOUT_MS },
      );
      sum.removed += part.removed;
      sum.freed_bytes += part.freed_bytes;
      if (part.complete) break;
      if (part.removed > 0) terminal.say(`${countOf(sum.removed, 'image')} removed so far`);
      else
        throw new CommandError(
          'The server cannot finish the cleanup now. Try again later; its log says why.',
        );
    }
    await terminal.print(
      `${countOf(sum.removed, 'image')} removed, ${readableBytes(sum.freed_bytes)} freed\n`,
    );
    return EXIT.done;
  },
});
