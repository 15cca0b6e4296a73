import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import process from 'node:process';
import { type Config, type Environment, parseConfig } from '../config.ts';
import { integer } from '../config-values.ts';
import { withCause } from '../errors.ts';
import { createLineWriter, createLogger, type Facts } from '../lib/logger.ts';
import { masked } from '../lib/masked.ts';
import { qrBlocks } from '../lib/qr-code.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { socketPath } from '../start/listen.ts';
import { isContained } from '../start/shared-peers.ts';
import type { RunningServer } from '../start/waiting.ts';
import { start } from '../start.ts';
import { VERSION } from '../version.ts';
import { defineCommand, NO_OPERANDS } from './command.ts';
import { misspelled } from './config.ts';
import { EXIT, exitCodeOf } from './exit.ts';
import { value } from './options.ts';

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
  for (const hint of misspelled(env)) log('warn', hint);
  // Installed first, because a signal without a handler would lose the buffered log lines.
  let onSignal = (signal: string): void => {
    log('info', 'stopped before the start was complete', { signal });
    process.exit(0);
  };
  for (const signal of SIGNALS) process.on(signal, () => onSignal(signal));
  const refuse = (error: unknown): never => {
    if (config.LOG_FORMAT === 'json') log('error', 'cannot start', { cause: withCause(error) });
    else process.stderr.write(`picpool: cannot start: ${withCause(error)}\n`);
    process.exit(exitCodeOf(error));
  };
  const server = await start(runtime, config, log, env).catch(refuse);
  const { promise: signalled, resolve } = Promise.withResolvers<string>();
  onSignal = resolve;
  if (config.LOG_FORMAT === 'json') log('info', 'started', startFacts(server, config, runtime));
  else process.stderr.write(banner(server, config, runtime));
  const { stdout, stderr } = process;
  if (stdout.isTTY && stderr.isTTY) stderr.write(await greeting(server, config, runtime, env));
  server.complete.catch(refuse);

  log('info', 'stopping', { signal: await signalled });
  onSignal = () => process.exit(1);
  await server.stop();
  process.exit(0);
}

function startFacts(
  { url, addresses, sandbox, waits }: RunningServer,
  config: Config,
  runtime: Runtime,
): Facts {
  return {
    ...{ version: VERSION, runtime: `${runtime.name} ${runtime.version}`, url, ...addresses },
    services: config.SERVICES.join(','),
    records: masked('METADATA_URL', config.METADATA_URL),
    images: masked('BLOBS_URL', config.BLOBS_URL),
    ...(sandbox !== null && { sandbox }),
    ...(waits && { waits: 'for the records' }),
  };
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

/** Size of a terminal in lines and columns. */
interface Room {
  rows: number;
  columns: number;
}

export interface WelcomeOptions {
  /** Where the server listens: `http://localhost:3000`, or a socket. */
  url: string;
  /** The address for other devices, and what kind of devices; `null` if there is none or it is not known. */
  shared: { url: string; by: string } | null;
  config: Pick<Config, 'SERVICES'>;
  /** The command that calls this program. */
  program: string;
  room: Room;
  colored: boolean;
}

/** The two of the 256 colours that no theme changes. */
const WHITE_ON_BLACK = '\u001b[38;5;231;48;5;16m';
const PLAIN = '\u001b[0m';

/** Lines for the text around a QR code: server, address, commands and a prompt. */
const WORDS_ROWS = 16;

/** Returns extra lines for a terminal: the address for other devices, and commands to start with. */
export function welcome({ url, shared, config, program, room, colored }: WelcomeOptions): string {
  const commands = usefulCommands(config.SERVICES, program, url === DEFAULT_URL ? '' : ` --url ${url}`);
  const column = Math.max(...commands.map(([command]) => command.length)) + 3;
  const lines = commands.map(([command, what]) => `  ${command.padEnd(column)}${what}`);
  const parts = [`In another terminal:\n${lines.join('\n')}`];
  if (shared !== null) {
    const code = qrBlocks(shared.url);
    const fits = code.length + WORDS_ROWS <= room.rows && (code[0]?.length ?? 0) <= room.columns;
    if (fits) parts.unshift(code.map((line) => (colored ? WHITE_ON_BLACK + line + PLAIN : line)).join('\n'));
    parts.unshift(`${shared.by}: ${shared.url}`);
  }
  return `\n${parts.join('\n\n')}\n\n`;
}

const DEFAULT_URL = 'http://localhost:3000';

function usefulCommands(services: Config['SERVICES'], program: string, where: string): [string, string][] {
  const images: [string, string] = [
    `${program} upload${where} photo.jpg`,
    'uploads a picture and prints its link',
  ];
  const proxies: [string, string] = [`${program} export${where}`, 'prints the working proxies'];
  const refresh: [string, string] = [`${program} refresh${where}`, 'refreshes the pool now'];
  const remove: [string, string] = [`${program} delete LINK`, 'deletes what you uploaded'];
  const doctor: [string, string] = [`${program} doctor`, 'finds problems with this setup'];
  if (!services.includes('proxy')) return [images, remove, doctor];
  if (!services.includes('image')) return [proxies, refresh, doctor];
  return [images, proxies, doctor];
}

type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

/** Networks that only exist on this machine: of containers, virtual machines and tunnels. */
const VIRTUAL = /^(br-|cni|docker|lxc|lxd|podman|tailscale|tap|tun|utun|vbox|veth|virbr|vmnet|wg|zt)/;

/** Private networks of homes and offices, the most common first. */
const PRIVATE = [/^192\.168\./, /^10\./, /^172\.(1[6-9]|2\d|3[01])\./];

/** Returns the address at which other devices in the same network most likely reach this machine, or `null`. */
export function lanAddress(interfaces: Interfaces): string | null {
  const addresses = Object.entries(interfaces)
    .filter(([name]) => !VIRTUAL.test(name))
    .flatMap(([, found = []]) => found)
    .filter(({ internal, family }) => !internal && family === 'IPv4')
    .map(({ address }) => address)
    .filter((address) => !address.startsWith('169.254.'));
  const rank = (address: string) => {
    const place = PRIVATE.findIndex((network) => network.test(address));
    return place < 0 ? PRIVATE.length : place;
  };
  return addresses.sort((a, b) => rank(a) - rank(b))[0] ?? null;
}
