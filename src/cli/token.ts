import { randomBytes } from 'node:crypto';
import { fstatSync } from 'node:fs';
import process from 'node:process';
import { createTokens, ROLES, TOKEN_NAME, type Token } from '../access/tokens.ts';
import { readUsage, type Usage } from '../access/usage.ts';
import { createIssuer } from '../admin/token-routes.ts';
import { choice, rate } from '../config-values.ts';
import { formatTimestamp } from '../lib/clock.ts';
import { readableBytes } from '../lib/format.ts';
import type { Bucket } from '../lib/rate-limiter.ts';
import { SECONDS } from '../lib/rates.ts';
import { openAudit } from '../start/audit.ts';
import { defineCommand } from './command.ts';
import { EXIT, usageError } from './exit.ts';
import { value, valueOr } from './options.ts';
import { withStores } from './stores.ts';

/** In the audit log. */
const who = 'command line';

export const command = defineCommand({
  operands: { form: 'create NAME | list | revoke NAME', least: 1, most: 2 },
  about: `Creates, lists and revokes tokens for the local server, which picks up changes within a second. A new token
is printed once and stored nowhere: the records hold only its SHA-256.

  picpool token create laptop --role upload --rate 60/1h --quota 1GiB/1d`,
  options: {
    role: valueOr(
      'ROLE',
      choice(
        ROLES,
        'upload',
        'upload: may upload; moderator: may review, delete and block; admin: may do everything; gateway: may use the gateway.',
      ),
    ),
    rate: value('COUNT/TIME', rate('How often it may be used, such as 60/1h.')),
    quota: value('BYTES/TIME', rate('How many bytes it may transfer, such as 1GiB/1d.')),
  },

  async run({ options, operands: [verb = '', name = ''], ...surroundings }) {
    const { terminal } = surroundings;
    if (verb === 'list' ? name !== '' : !['create', 'revoke'].includes(verb)) {
      throw usageError('Use create NAME, list, or revoke NAME.');
    }
    // One with an older name can be revoked.
    const isNamed = verb === 'create' ? new RegExp(TOKEN_NAME.pattern).test(name) : name !== '';
    if (verb !== 'list' && !isNamed) throw usageError(TOKEN_NAME.rule);
    // Runtimes put /dev/null in the place of a closed output.
    if (verb === 'create' && !process.stdout.isTTY && fstatSync(1).isCharacterDevice())
      throw usageError('Standard output is closed or /dev/null: nobody would know the token.');
    return withStores(surroundings, async ({ config, log, ...stores }) => {
      const { state } = stores;
      const { once } = openAudit(config, stores, log);
      const tokens = createTokens({ state, random: randomBytes, now: Date.now });
      if (verb === 'list') await terminal.print(listed(await tokens.list(), await readUsage(state)));
      else if (verb === 'revoke') {
        await createIssuer(tokens, { once }).revoke(name, { who });
        terminal.say(`${name} is revoked.`);
      } else {
        const { role, rate = null, quota = null } = options;
        await once({ what: 'token.create', subject: `token ${name}`, who, why: role }, async () => {
          const token = await tokens.create({ name, role, rate, quota });
          // Nobody would know it.
          await terminal.print(`${token}\n`).catch(async (error) => {
            await tokens
              .revoke(name)
              .catch(() => terminal.say(`${name} can be neither printed nor revoked now: revoke it later.`));
            throw error;
          });
        });
      }
      return EXIT.done;
    });
  },
});

function listed(tokens: Token[], usage: Record<string, Usage>): string {
  const rows = tokens.map(({ id, name, role, rate, quota, createdAt }) => {
    const who = `${id}  ${role.padEnd(7)}  ${formatTimestamp(createdAt)}  ${name}`;
    return `${who}  rate ${written(rate, String)}  quota ${written(quota, readableBytes)}  ${usedBy(usage[id])}\n`;
  });
  return rows.join('');
}

function usedBy(usage: Usage | undefined): string {
  if (usage === undefined) return 'unused';
  const { requests, bytes, lastAt } = usage;
  return `used ${requests} times, ${readableBytes(bytes)}, last ${formatTimestamp(lastAt)}`;
}

function written(bucket: Bucket | null, amountOf: (amount: number) => string): string {
  if (bucket === null) return 'none';
  const { capacity, perSecond } = bucket;
  // The division may not return quite what was typed.
  const seconds = Number((capacity / perSecond).toPrecision(12));
  const [unit, length] = Object.entries(SECONDS).findLast(([, each]) => seconds % each === 0) ?? ['s', 1];
  return `${amountOf(capacity)}/${seconds / length}${unit}`;
}
