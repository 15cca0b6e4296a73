import process from 'node:process';
import { type Config, type Environment, parseConfig } from '../config.ts';
import { integer } from '../config-values.ts';
import { withCause } from '../errors.ts';
import { createLineWriter, createLogger } from '../lib/logger.ts';
import { masked, withoutSecrets } from '../lib/masked.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { RunningServer } from '../start/waiting.ts';
import { start } from '../start.ts';
import { VERSION } from '../version.ts';
import { defineCommand } from './command.ts';
import { misspelled } from './config.ts';
import { EXIT, exitCodeOf } from './exit.ts';
import { value } from './options.ts';
import { endingSignal } from './signals.ts';

export const command = defineCommand({
  about: `Starts the server and keeps it running until SIGTERM, SIGINT or SIGHUP. Settings come from the environment
and from a .env file; \`picpool config\` lists them.`,
  options: {
    port: value(
      'PORT',
      integer(undefined, 'Port to listen on; 0 lets the system choose. [PORT, else 3000]', 0, 65_535),
    ),
  },
  async run({ options: { port }, runtime, env }) {
    await serve(runtime, port === undefined ? env : { ...env, PORT: String(port) });
    return EXIT.done;
  },
});

/** Starts the server and runs it until a signal. A second signal ends it at once. */
async function serve(runtime: Runtime, env: Environment): Promise<void> {
  const config = parseConfig(env);
  const lines = createLineWriter((text) => void process.stdout.write(text));
  process.on('exit', lines.flush);
  const log = createLogger({
    level: config.LOG_LEVEL,
    format: config.LOG_FORMAT ?? (process.stdout.isTTY ? 'pretty' : 'json'),
    write(line, level) {
      lines.write(line);
      // The process may not get another chance to write.
      if (level === 'error') lines.flush();
    },
    now: Date.now,
    addresses: config.LOG_ADDRESSES,
  });
  for (const hint of misspelled(env)) log('warn', hint);
  // Installed first, because a signal without a handler would lose the buffered log lines.
  const signalled = endingSignal();
  let hasStarted = false;
  signalled.then((signal) => {
    if (hasStarted) return;
    log('info', 'stopped before the start was complete', { signal });
    process.exit(0);
  });
  const refuse = (error: unknown): never => {
    const cause = withoutSecrets(withCause(error));
    if (config.LOG_FORMAT === 'json') log('error', 'cannot start', { cause });
    else process.stderr.write(`picpool: cannot start: ${cause}\n`);
    process.exit(exitCodeOf(error));
  };
  const server = await start(runtime, config, log, env).catch(refuse);
  hasStarted = true;
  const facts = factsOf(server, config);
  const program = `${runtime.name} ${runtime.version}`;
  if (config.LOG_FORMAT === 'json') log('info', 'started', { version: VERSION, runtime: program, ...facts });
  else {
    const lines = Object.entries(facts).map(([name, fact]) => lineOf(name, fact));
    process.stderr.write(`picpool ${VERSION} on ${program}\n${lines.join('')}`);
  }
  server.complete.catch(refuse);
  // A conversion process takes 0.2 s to start, during which the server already answers.
  const sandbox = await Promise.race([server.sandbox(), signalled.then(() => null)]);
  if (sandbox !== null && config.LOG_FORMAT === 'json') log('info', 'conversions', { sandbox });
  else if (sandbox !== null) process.stderr.write(lineOf('sandbox', sandbox));

  log('info', 'stopping', { signal: await signalled });
  await server.stop();
  process.exit(0);
}

const lineOf = (name: string, fact: string) => `  ${name.padEnd(11)} ${fact}\n`;

/** Returns what is said of a server that has started, by name. */
function factsOf({ url, addresses, waits }: RunningServer, config: Config): Record<string, string> {
  return {
    listening: url,
    services: config.SERVICES.join(', '),
    records: masked('METADATA_URL', config.METADATA_URL) + (waits ? ' (not responding; waiting for it)' : ''),
    images: masked('BLOBS_URL', config.BLOBS_URL),
    API: `${url}/docs (${url}/openapi.json)`,
    ...addresses,
  };
}
