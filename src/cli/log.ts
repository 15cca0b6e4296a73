import { integer } from '../config-values.ts';
import { openAudit } from '../start/audit.ts';
import { defineCommand } from './command.ts';
import { EXIT } from './exit.ts';
import { valueOr } from './options.ts';
import { withStores } from './stores.ts';

const PAGE = 500;

export const command = defineCommand({
  about: `Prints the audit log of the local server as lines of JSON, oldest first: who deleted, blocked or decided
what, when and why.

  picpool log --last 1000 > acts.jsonl`,
  options: {
    last: valueOr('COUNT', integer('100', 'How many of the latest acts to print.', 1, 10_000_000)),
  },

  async run({ options, ...surroundings }) {
    return withStores(surroundings, async ({ config, log, ...stores }) => {
      const audit = openAudit(config, stores, log);
      const lines: string[] = [];
      for (let after: string | undefined; lines.length < options.last; ) {
        const acts = await audit.list({ limit: Math.min(PAGE, options.last - lines.length), after });
        if (acts.length === 0) break;
        lines.push(...acts.map((act) => `${audit.lineOf(act)}\n`));
        after = acts.at(-1)?.id;
      }
      await surroundings.terminal.print(lines.toReversed().join(''));
      return EXIT.done;
    });
  },
});
