import { countOf } from '../lib/format.ts';
import { createClient, serverOptions } from './client.ts';
import { defineCommand } from './command.ts';
import { CommandError, EXIT } from './exit.ts';
import { openKeptTokens } from './kept-tokens.ts';

/** An ID, or any link to an image with its server. */
const IMAGE = /^(?:(\S*)\/i\/)?([A-Za-z0-9]{12})(?:\.[a-z]+)?(?:[/?#]\S*)?$/;

export const command = defineCommand({
  operands: { form: 'LINK|ID...', least: 1, most: Number.POSITIVE_INFINITY },
  about: `Deletes images from a server, and prints the IDs of those that are gone. It uses the delete tokens that
\`picpool upload\` has kept in ~/.config/picpool/tokens. Without a token, an image is deleted if the server
allows that for this address or for ADMIN_TOKEN. Without --url, a link names the server, which gets ADMIN_TOKEN
only if PICPOOL_URL names it too. Exit code 0: all are deleted; 1: at least one is not, and standard error says
why.

  picpool delete http://localhost:3000/i/m1xu77XIQXo8`,
  options: serverOptions,

  async run({ options, operands, env, terminal }) {
    const named = createClient(options.url, env);
    const tokens = openKeptTokens(env);
    let failed = 0;
    for (const operand of operands) {
      try {
        const [, base, id] = IMAGE.exec(operand) ?? [];
        if (id === undefined) throw new CommandError('This is neither a link to an image nor an ID.');
        const other = options.url === undefined && base && base !== named.url;
        // A link may come from anybody: its server gets no token of another.
        const client = other ? createClient(base, {}) : named;
        const image = { server: client.url, id };
        const token = await tokens.find(image);
        const headers = token === null ? {} : { 'x-delete-token': token };
        const gone = await client.ask('DELETE', `/api/delete/${id}`, { id: 'string' }, { headers });
        if (gone.id !== id) throw new CommandError(`The server has deleted ${gone.id} instead.`);
        // A token too many does no harm.
        if (token !== null) await tokens.forget(image).catch(() => {});
        await terminal.print(`${id}\n`);
      } catch (error) {
        if (!(error instanceof CommandError)) throw error;
        failed++;
        terminal.say(`picpool: ${operand}: ${error.message}`);
      }
    }
    if (failed > 0 && operands.length > 1) {
      terminal.say(`${countOf(failed, 'image')} of ${operands.length} not deleted`);
    }
    return failed > 0 ? EXIT.failed : EXIT.done;
  },
});
