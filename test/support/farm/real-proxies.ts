import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** How long a program may take to listen on a busy machine. */
const START_MS = 45_000;

export interface RealProxy {
  port: number;
  stop(): Promise<void>;
}

interface Program {
  command: string;
  /** The Debian package that holds it. */
  debianPackage: string;
  args: (folder: string) => string[];
  /** Its configuration, written to `proxy.conf` in the folder. */
  config?: (folder: string) => string;
}

interface Login {
  user: string;
  password: string;
}

/** HTTP and CONNECT. `address` is one of 127.0.0.0/8. `more`: further lines of its configuration. */
export function startTinyproxy(
  address: string,
  port: number,
  { login, more = '' }: { login?: Login; more?: string } = {},
): Promise<RealProxy> {
  return start(address, port, {
    command: 'tinyproxy',
    debianPackage: 'tinyproxy-bin',
    args: (folder) => ['-d', '-c', join(folder, 'proxy.conf')],
    config: () =>
      `Port ${port}\nListen ${address}\nBind ${address}\nTimeout 20\nMaxClients 200\nAllow 127.0.0.0/8\n${login ? `BasicAuth ${login.user} ${login.password}\n` : ''}${more}`,
  });
}

/** SOCKS5. */
export function startMicrosocks(address: string, port: number, login?: Login): Promise<RealProxy> {
  return start(address, port, {
    command: 'microsocks',
    debianPackage: 'microsocks',
    args: () => [
      '-i',
      address,
      '-p',
      String(port),
      '-b',
      address,
      ...(login ? ['-u', login.user, '-P', login.password] : []),
    ],
  });
}

/** SOCKS4 and SOCKS5 without a password. */
export function startDante(address: string, port: number): Promise<RealProxy> {
  return start(address, port, {
    command: 'danted',
    debianPackage: 'dante-server',
    args: (folder) => ['-f', join(folder, 'proxy.conf'), '-p', join(folder, 'danted.pid'), '-N', '1'],
    config: () => `logoutput: stderr
internal: ${address} port = ${port}
external: ${address}
clientmethod: none
socksmethod: none
client pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }
socks pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }
`,
  });
}

async function start(address: string, port: number, program: Program): Promise<RealProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'picpool-proxy-'));
  if (program.config) await writeFile(join(folder, 'proxy.conf'), program.config(folder));
  const child = spawn(program.command, program.args(folder), { stdio: ['ignore', 'ignore', 'pipe'] });
  let complaint = '';
  let ended = false;
  child.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk.toString();
  });
  child.on('error', () => {
    ended = true;
    complaint = `"${program.command}" was not found; on Debian: apt-get install ${program.debianPackage}`;
  });
  child.on('exit', () => {
    ended = true;
  });
  const stop = async () => {
    await end(child, () => ended);
    await rm(folder, { recursive: true, force: true });
  };
  const deadline = performance.now() + START_MS;
  while (!(await accepts(address, port))) {
    if (!ended && performance.now() < deadline) await new Promise((done) => setTimeout(done, 20));
    else {
      await stop();
      throw new Error(`${program.command} does not listen: ${complaint}`);
    }
  }
  return { port, stop };
}

async function end(child: ChildProcess, hasEnded: () => boolean): Promise<void> {
  if (hasEnded()) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await gone;
}

function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
