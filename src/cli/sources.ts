import { parseConfig } from '../config.ts';
import { masked } from '../lib/masked.ts';
import { loadSources } from '../proxy/sources/load.ts';
import { defineCommand } from './command.ts';
import { EXIT } from './exit.ts';

export const command = defineCommand({
  about: `Prints the lists that fill the pool: name and URL, separated by a tab. \`picpool doctor\` reads them, and names
those that fail or have moved.`,
  options: {},

  async run({ env, terminal }) {
    const sources = await loadSources(parseConfig(env).PROXY_SOURCES);
    await terminal.print(
      sources.map(({ name, url }) => `${name}\t${masked('PROXY_SOURCES', url)}\n`).join(''),
    );
    return EXIT.done;
  },
});
