import type { Command } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/commands.ts';

/** A command with everything that completions and the manual show. */
export interface DescribedCommand {
  name: string;
  summary: string;
  about: string;
  /** What can follow the options, as the help shows it. */
  operands: string;
  /** Possible first operands, such as `create` of `picpool token create`. */
  verbs: readonly string[];
  options: readonly DescribedOption[];
}

export interface DescribedOption {
  /** Without the dashes. */
  name: string;
  short?: string;
  /** `null` if the option takes no value. */
  placeholder: string | null;
  help: string;
  choices?: readonly string[];
}

/** Returns the commands of the program in the order of its help. */
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
