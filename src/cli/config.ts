import { type Environment, parseConfig, SECRETS, settings, withFolder } from '../config.ts';
import { masked } from '../lib/masked.ts';
import { nearest } from '../lib/nearest.ts';
import { defineCommand } from './command.ts';
import { EXIT } from './exit.ts';
import { flag } from './options.ts';

interface Row {
  name: string;
  /** Secrets are masked; `null`: not set, and no default. */
  value: string | null;
  /** `default`, `set`, or the name of the variable that names the file of a secret. */
  source: string;
}

export const command = defineCommand({
  about: `Prints every setting with its value, and whether it is set or the default. Secrets are masked.
Exit code 2: a setting is invalid; all faults are listed.`,
  options: { json: flag('Prints an array of objects with name, value and source.') },

  async run({ options, env, terminal }) {
    for (const hint of misspelled(env)) terminal.say(`picpool: ${hint}`);
    const config = parseConfig(env);
    const rows = Object.entries(settings).map(([name, schema]): Row => {
      const given = env[name]?.trim();
      const text = given || schema.default;
      return {
        name,
        value: text === undefined ? null : masked(name, withFolder(text, config)),
        source: env[`${name}_FILE`]?.trim() ? `${name}_FILE` : given ? 'set' : 'default',
      };
    });
    await terminal.print(options.json ? `${JSON.stringify(rows)}\n` : table(rows));
    return EXIT.done;
  },
});

function table(rows: readonly Row[]): string {
  const shown = rows.map(
    ({ name, value, source }) => [name, (value ?? '(not set)') || '(empty)', source] as const,
  );
  const width = (column: 0 | 1) => Math.max(...shown.map((row) => Math.min(60, row[column].length)));
  const [first, second] = [width(0), width(1)];
  return shown
    .map(([name, value, source]) => `${name.padEnd(first)}  ${value.padEnd(second)}  ${source}\n`)
    .join('');
}

/** Returns what a name without a known beginning must share with a setting: `SERVICE` means `SERVICES`, but `TERM` is not `TERMS`. */
const bare = (name: string) =>
  name
    .toUpperCase()
    .replaceAll('_', '')
    .replace(/(?<=.{5})S$/, '');

/** Returns variables that look like a misspelled setting. */
export function misspelled(env: Environment): string[] {
  const known = [...Object.keys(settings), ...SECRETS.map((name) => `${name}_FILE`)];
  const prefixes = new Set(known.flatMap((name) => /^[A-Z]+_/.exec(name)?.[0] ?? []));
  return Object.keys(env).flatMap((name) => {
    if (known.includes(name)) return [];
    const isOurs = [...prefixes].some((prefix) => name.startsWith(prefix));
    const meant = isOurs ? nearest(name, known) : known.find((one) => bare(one) === bare(name));
    return meant === undefined ? [] : [`${name} is not a setting. Did you mean ${meant}?`];
  });
}
