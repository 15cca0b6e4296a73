import { networkInterfaces } from 'node:os';
import process from 'node:process';
import { type Config, type Environment, parseConfig } from '../config.ts';
import { integer } from '../config-values.ts';
import { createLineWriter } from '../lib/line-writer.ts';
import { createLogger } from '../lib/logger.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { socketPath } from '../start/listen.ts';
import { isContained } from '../start/shared-peers.ts';
import type { RunningServer } from '../start/waiting.ts';
import { start } from '../start.ts';
import { VERSION } from '../version.ts';
import { defineCommand, NO_OPERANDS } from './command.ts';
import { EXIT, withCause } from './exit.ts';
import { lanAddress } from './lan-address.ts';
import { masked } from './masked.ts';
import { value } from './options.ts';
import { welcome } from './welcome.ts';

/** Signals that ask for a graceful shutdown. */
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

export const command = defineCommand({
  operands: NO_OPERANDS,
  about: `Starts the server and keeps it running until SIGTERM or SIGINT. Settings come from the environment and from a
.env file; \`picpool config\` lists them.`,
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
  const lines = createLineWriter({ write: (text) => void process.stdout.write(text) });
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
  // Installed first, because a signal without a handler would lose the buffered log lines.
  let onSignal = (signal: string): void => {
    log('info', 'stopped before the start was complete', { signal });
    process.exit(0);
  };
  for (const signal of SIGNALS) process.on(signal, () => onSignal(signal));
  const refuse = (error: unknown): never => {
    process.stderr.write(`picpool: cannot start: ${withCause(error)}\n`);
    process.exit(1);
  };
  const server = await start(runtime, config, log, env).catch(refuse);
  const { promise: signalled, resolve } = Promise.withResolvers<string>();
  onSignal = resolve;
  process.stderr.write(banner(server, config, runtime));
  const { stdout, stderr } = process;
  if (stdout.isTTY && stderr.isTTY) stderr.write(await greeting(server, config, runtime, env));
  server.complete.catch(refuse);

  log('info', 'stopping', { signal: await signalled });
  onSignal = () => process.exit(1);
  await server.stop();
  process.exit(0);
}

function banner({ url, addresses, sandbox, waits }: RunningServer, config: Config, runtime: Runtime): string {
  const others = Object.entries(addresses).map(([name, address]) => `  ${name.padEnd(11)} ${address}\n`);
  return `picpool ${VERSION} on ${runtime.name} ${runtime.version}
  listening   ${url}
  services    ${config.SERVICES.join(', ')}
  records     ${masked('METADATA_URL', config.METADATA_URL)}${waits ? ' (not responding; waiting for it)' : ''}
  images      ${masked('BLOBS_URL', config.BLOBS_URL)}
${sandbox === null ? '' : `  sandbox     ${sandbox}\n`}  API         ${url}/docs (${url}/openapi.json)
${others.join('')}`;
}

async function greeting(
  { url }: RunningServer,
  config: Config,
  runtime: Runtime,
  env: Environment,
): Promise<string> {
  return welcome({
    url,
    shared: await sharedUrl(url, config, env),
    config,
    program: programOf(runtime),
    room: { rows: process.stderr.rows || 24, columns: process.stderr.columns || 80 },
    colored: !env.NO_COLOR && env.TERM !== 'dumb',
  });
}

/** Returns where others reach the server, or `null` if they cannot, or it is unknown. */
async function sharedUrl(
  url: string,
  { HOST, PUBLIC_URL }: Config,
  env: Environment,
): Promise<{ url: string; by: string } | null> {
  if (PUBLIC_URL !== undefined) return { url: PUBLIC_URL, by: 'Public address' };
  if (socketPath(HOST) !== null || (await isContained(env))) return null;
  const { hostname, port } = new URL(url);
  const address = ['0.0.0.0', '::'].includes(HOST) ? lanAddress(networkInterfaces()) : hostname;
  if (address === null || /^(localhost|127\.|\[::1\])/.test(address)) return null;
  return { url: `http://${address}:${port}`, by: 'On this network' };
}

/** Returns the command that calls this program, as far as it is known. */
function programOf(runtime: Runtime): string {
  if (runtime.selfCommand().length === 1) return 'picpool';
  return runtime.name === 'bun' ? './scripts/start' : 'deno run -A src/main.deno.ts';
}
