import type { Command } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/commands.ts';

/** A command with everything that completions and the manual tell of it. */
export interface DescribedCommand {
  name: string;
  summary: string;
  about: string;
  /** What may follow the options, as the help shows it. */
  operands: string;
  /** Words that the first operand may be, such as `create` of `picpool token create`. */
  verbs: readonly string[];
  options: readonly DescribedOption[];
}

export interface DescribedOption {
  /** Without the dashes. */
  name: string;
  short?: string;
  /** `null`: the option takes no value. */
  placeholder: string | null;
  help: string;
  choices?: readonly string[];
}

/** The commands of the program in the order of its help, each loaded and described. */
export async function describeCommands(): Promise<DescribedCommand[]> {
  return Promise.all(
    Object.entries(COMMANDS).map(async ([name, { summary, load }]) => {
      const { command } = await load();
      return { name, summary, about: command.about.trim(), ...describe(command) };
    }),
  );
}

function describe({ operands: { form }, options }: Command) {
  return {
    operands: form,
    verbs: form.split('|').flatMap((part) => /^\s*([a-z]+)\b/.exec(part)?.[1] ?? []),
    options: [
      ...Object.entries(options).map(([name, { placeholder, short, help, choices }]) => ({
        name,
        placeholder,
        help,
        ...(short !== undefined && { short }),
        ...(choices && { choices }),
      })),
      { name: 'help', short: 'h', placeholder: null, help: 'Prints what the command takes.' },
    ],
  };
}
