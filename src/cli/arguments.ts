import { parseArgs } from 'node:util';
import { nearest } from '../lib/nearest.ts';
import { usageError } from './exit.ts';
import type { Given, Options } from './options.ts';

/** Positional arguments of the command line. */
export interface Operands {
  /** As the help shows it. */
  form: string;
  least: number;
  most: number;
}

/** Options that are handled before those of a command. */
const EVERYWHERE = ['help', 'version'];

/**
 * Parses the arguments of a command.
 * @throws {CommandError} with all faults at once.
 */
export function readArguments<O extends Options>(options: O, operands: Operands, args: readonly string[]) {
  const { texts, found, faults } = sort(options, args);
  const given: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(options)) {
    try {
      given[name] = option.read(texts.get(name) ?? []);
    } catch (error) {
      faults.push(`--${name} ${error instanceof Error ? error.message : error}`);
    }
  }
  if (found.length < operands.least) faults.push(`Missing argument: ${operands.form}`);
  for (const one of found.slice(operands.most)) faults.push(`Unexpected argument "${one}"`);
  if (faults.length > 0) throw usageError(faults.map((fault) => fault.replace(/[^.?!]$/, '$&.')).join('\n'));
  return { options: given as Given<O>, operands: found };
}

export type Arguments<O extends Options> = ReturnType<typeof readArguments<O>>;

/** Collects the texts given for each option. The parser's own messages would not say what is valid. */
function sort(options: Options, args: readonly string[]) {
  const known = Object.entries(options).map(([name, { placeholder, short }]) => {
    const type = placeholder === null ? ('boolean' as const) : ('string' as const);
    return [name, { type, ...(short !== undefined && { short }) }] as const;
  });
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(known),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const texts = new Map<string, string[]>();
  const found: string[] = [];
  const faults: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') found.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (!option) {
      // Each letter of `-cat.png` is an option.
      const word = rawName.startsWith('--') ? '' : (args[token.index] ?? '').slice(1);
      const isWord = word.length > 1;
      const meant = nearest(isWord ? word : name, [...Object.keys(options), ...EVERYWHERE]);
      const first = name === 'settings' ? ' Write it before the command.' : '';
      const path = isWord ? ` If it is a name, write ./-${word}.` : first;
      const hint = meant === undefined ? path : ` Did you mean --${meant}?`;
      const fault = `Unknown option ${isWord ? `-${word}` : rawName}.${hint}`;
      if (!faults.includes(fault)) faults.push(fault);
    } else if (option.placeholder === null) {
      if (value !== undefined) faults.push(`${rawName} takes no value`);
      texts.set(name, ['']);
    } else if (value === undefined || (!inlineValue && /^-./.test(value)) || isMissing(option, value)) {
      faults.push(`${rawName} needs a value: ${rawName}=${option.placeholder}`);
    } else {
      texts.set(name, [...(texts.get(name) ?? []), value]);
    }
  }
  return { texts, found, faults };
}

/** Variables that are not set make empty values. Only the title of an album may be empty. */
const isMissing = ({ placeholder }: Options[string], value: string) =>
  value.trim() === '' && placeholder !== 'TITLE';
