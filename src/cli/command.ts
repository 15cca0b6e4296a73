import type { Environment } from '../config.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { type Arguments, type Operands, readArguments } from './arguments.ts';
import type { ExitCode } from './exit.ts';
import type { Options } from './options.ts';
import type { Terminal } from './terminal.ts';

export interface Surroundings {
  runtime: Runtime;
  env: Environment;
  terminal: Terminal;
}

interface CommandSpec<O extends Options> {
  /** Default: none. */
  operands?: Operands;
  /** Some lines below the usage. */
  about: string;
  options: O;
  run(invocation: Arguments<O> & Surroundings): Promise<ExitCode>;
}

export const NO_OPERANDS: Operands = { form: '', least: 0, most: 0 };

/** Maximum length of a line of help. */
const WIDTH = 100;

export function defineCommand<O extends Options>({
  operands = NO_OPERANDS,
  about,
  options,
  run,
}: CommandSpec<O>) {
  return {
    /** The arguments as help, completions and manual show them. */
    operands,
    about,
    options,
    help: (name: string) =>
      `Usage: picpool ${name} [options] ${operands.form}`.trimEnd() +
      `\n\n${about.trim()}\n\n${describe(options)}\n`,
    /** Rejects with `CommandError` or `AppError` for faults that the user should read. */
    run: (args: readonly string[], surroundings: Surroundings) =>
      run({ ...readArguments(options, operands, args), ...surroundings }),
  };
}

/** One command of the program. Nothing else knows its options. */
export type Command = ReturnType<typeof defineCommand>;

function describe(options: Options): string {
  const rows = Object.entries(options).map(([name, { placeholder, short, help }]) => {
    const long = placeholder === null ? `--${name}` : `--${name} ${placeholder}`;
    return [`  ${short === undefined ? '    ' : `-${short}, `}${long}`, help] as const;
  });
  rows.push(['  -h, --help', 'Prints this help.']);
  const column = Math.max(...rows.map(([left]) => left.length)) + 2;
  return rows.map(([left, help]) => left.padEnd(column) + wrap(help, column)).join('\n');
}

export function wrap(text: string, indent: number): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && indent + line.length + word.length >= WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.join(`\n${' '.repeat(indent)}`);
}
