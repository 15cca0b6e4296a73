import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { parseEnv } from 'node:util';
import type { Environment } from '../config.ts';
import { AppError, ConfigError, withCause } from '../errors.ts';
import { nearest } from '../lib/nearest.ts';
import { keepNewFilesPrivate } from '../lib/private-files.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { VERSION } from '../version.ts';
import { type Surroundings, wrap } from './command.ts';
import { COMMANDS } from './commands.ts';
import { CommandError, EXIT, EXIT_CODES, type ExitCode, exitCodeOf } from './exit.ts';
import { withSecretFiles } from './secret-files.ts';
import { createTerminal, type Terminal } from './terminal.ts';

const DEFAULT = 'serve';

const HELP = `picpool ${VERSION}: a pool of tested free proxies, and an image host

Usage: picpool [command] [options]

${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(14)} ${summary}`)
  .join('\n')}

  picpool --settings FILE <command>   use the settings in this file, as an installed service has them
  picpool <command> --help            print the options of a command
  picpool --version                   print the version

Settings come from the environment and from a .env file; \`picpool config\` lists them. Data goes to
standard output, everything else to standard error.
${wrap(`Exit codes: ${EXIT_CODES}.`, 0)}
`;

/** Runs the command that the arguments name, and ends the program with its exit code. */
export async function run(runtime: Runtime, args: readonly string[], env: Environment): Promise<void> {
  keepNewFilesPrivate();
  const { stdout, stderr } = process;
  const terminal = createTerminal({ stdout, stderr, env });
  const code = await begin(args, { runtime, env, terminal });
  await terminal.flush();
  process.exit(code);
}

/** Reads the file that `--settings` names, whose values replace those of the environment. */
async function begin(args: readonly string[], surroundings: Surroundings): Promise<ExitCode> {
  const [option = DEFAULT, path = '', ...others] = args.flatMap((word, index) =>
    index === 0 && word.startsWith('--settings=') ? ['--settings', word.slice(11)] : word,
  );
  if (option !== '--settings') return dispatch(option, args.slice(1), surroundings);
  if (path === '') {
    surroundings.terminal.say('picpool: --settings needs a value: --settings=FILE.');
    return EXIT.usage;
  }
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => error);
  // If it were ignored, as all lines of UTF-16 would be, a server could be open to everyone.
  const why = typeof text === 'string' ? faultIn(text) : text.code;
  if (typeof text !== 'string' || why !== undefined) {
    surroundings.terminal.say(
      `picpool: --settings must name a file that can be read, but ${path} cannot (${why}).`,
    );
    return EXIT.usage;
  }
  const env = { ...surroundings.env, ...settingsIn(text) };
  return dispatch(others[0] ?? DEFAULT, others.slice(1), { ...surroundings, env });
}

/** Names the first line that is neither a setting, nor within the quotes of one, nor a comment. */
function faultIn(file: string): string | undefined {
  const setting = /^[\uFEFF \t]*(export[ \t]+)?[\w.-]+[ \t]*=[ \t]*("[^"]*"|'[^']*'|`[^`]*`)?[^\n]*/gm;
  const rest = file.replace(setting, (found) => found.replace(/[^\n]+/g, ''));
  const line = rest.split('\n').findIndex((one) => /^\s*[^\s#;]/.test(one)) + 1;
  return line > 0 ? `line ${line} is neither NAME=value in UTF-8 nor a comment` : undefined;
}

/** Reads settings as systemd does: a `#` within a value without quotes begins no comment. */
export function settingsIn(file: string): Environment {
  // Some editors begin a file with such a mark, which would be part of the first name.
  const text = file.replace(/^\uFEFF/, '');
  const values: Record<string, string | undefined> = parseEnv(text);
  const lines = text.matchAll(/^[ \t]*(\w+)[ \t]*=([^\n]*)$/gm);
  // Of a name that stands twice, the last line counts.
  for (const [name, value] of new Map(
    Array.from(lines, ([, name = '', value = '']) => [name, value.trim()]),
  )) {
    const read = values[name];
    if (read !== undefined && !/^["'`]/.test(value) && value.startsWith(read)) values[name] = value;
  }
  return values;
}

async function dispatch(
  first: string,
  others: readonly string[],
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { terminal } = surroundings;
  try {
    if (['--version', '-v', '-V', 'version'].includes(first)) return await print(terminal, `${VERSION}\n`);
    if (['--help', '-h'].includes(first) || (first === 'help' && others.length === 0))
      return await print(terminal, HELP);
    const [name, args] = commandOf(first, others);
    const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (!entry) {
      const meant = nearest(name, Object.keys(COMMANDS));
      const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
      terminal.say(`picpool: Unknown command "${name}".${hint}\nSee picpool --help.`);
      return EXIT.usage;
    }
    const { command } = await entry.load();
    const options = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
    if (options.includes('--help') || options.includes('-h')) {
      return await print(terminal, command.help(name));
    }
    return await command.run(args, { ...surroundings, env: await withSecretFiles(surroundings.env) });
  } catch (error) {
    if (error instanceof CommandError) {
      const topic = first.startsWith('-') ? '' : `${first} `;
      const hint = error.exitCode === EXIT.usage ? `\nSee picpool ${topic}--help.` : '';
      terminal.say(`picpool: ${error.message}${hint}`);
    } else if (exitCodeOf(error) !== EXIT.unread) terminal.say(`picpool: ${sentenceOf(error)}`);
    return exitCodeOf(error);
  }
}

/** Returns the command and its arguments. Options without a command belong to the default command. */
function commandOf(first: string, others: readonly string[]): [name: string, args: readonly string[]] {
  if (first === 'help') return [others[0] ?? '', ['--help']];
  return first.startsWith('-') ? [DEFAULT, [first, ...others]] : [first, others];
}

async function print(terminal: Terminal, text: string): Promise<ExitCode> {
  await terminal.print(text);
  return EXIT.done;
}

/** An unexpected error is shown with its stack, for a bug report. */
function sentenceOf(error: unknown): string {
  if (error instanceof ConfigError) return `the configuration is invalid.\n${error.message}`;
  if (error instanceof AppError || error instanceof CommandError) return withCause(error);
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
