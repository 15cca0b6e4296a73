import process from 'node:process';
import type { Environment } from '../config.ts';
import { ConfigError } from '../errors.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { VERSION } from '../version.ts';

/** Exit code for a command line or a configuration that cannot be used. */
const EXIT_USAGE = 2;

const HELP = `picpool ${VERSION}: a pool of verified free proxies, and an image host

  picpool [serve]     start the server
  picpool health      ask the running server of the same settings whether it is ready
  picpool --version   print the version
  picpool --help      print this

Settings come from the environment and from a .env file; the README lists them.
`;

/** What the first argument can be; `convert-worker` is how the server starts its own conversion processes. */
const COMMANDS: Record<string, (runtime: Runtime, env: Environment) => Promise<void>> = {
  serve: async (runtime, env) => (await import('./serve.ts')).serve(runtime, env),
  health: async (_, env) => (await import('./health.ts')).health(env),
  'convert-worker': async () => (await import('../image/codec/worker.ts')).runConvertWorker(),
  '--version': async () => console.log(VERSION),
  '--help': async () => console.log(HELP),
};

/** Runs the command that the arguments name. Faults of usage are written to stderr with exit code 2. */
export async function run(runtime: Runtime, args: readonly string[], env: Environment): Promise<void> {
  const [name = 'serve'] = args;
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) {
    console.error(`picpool: "${name}" is no command.\n\n${HELP}`);
    process.exit(EXIT_USAGE);
  }
  try {
    await command(runtime, env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    console.error(`picpool: the configuration cannot be used.\n${error.message}`);
    process.exit(EXIT_USAGE);
  }
}
