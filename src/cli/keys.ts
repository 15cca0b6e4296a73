import { randomBytes } from 'node:crypto';
import { formatTimestamp } from '../lib/clock.ts';
import { KEY_NAMES, rotateKeys } from '../lib/key-ring.ts';
import { defineCommand } from './command.ts';
import { EXIT, usageError } from './exit.ts';
import { flag } from './options.ts';
import { withStores } from './stores.ts';

export const command = defineCommand({
  operands: { form: 'rotate', least: 1, most: 1 },
  about: `Gives the local server new signing keys, for the cookies that open protected pictures and for the
responses of its own judge. Running copies pick them up within seconds. A new key signs after a minute and a
half, when all copies know it; older ones stay valid, so that nobody has to enter a password again. Tokens are
not signed.`,
  options: {
    forget: flag(
      'For a leaked key: new keys sign at once, and older ones become invalid. Visitors have to enter passwords again.',
    ),
  },

  async run({ options: { forget }, operands: [verb], ...surroundings }) {
    if (verb !== 'rotate') throw usageError('Use rotate.');
    return withStores(surroundings, async ({ state }) => {
      let said = '';
      for (const name of KEY_NAMES) {
        const from = await rotateKeys({ state, name, random: randomBytes, now: Date.now }, forget);
        said += `${name}: the new key signs from ${formatTimestamp(from)} UTC on\n`;
      }
      // An output without a reader must not leave a leaked key valid.
      await surroundings.terminal.print(said);
      return EXIT.done;
    });
  },
});
