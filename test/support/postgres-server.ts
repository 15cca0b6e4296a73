import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { find, type Service, startProgram } from './services.ts';

const run = promisify(execFile);
const PACKAGES = '/usr/lib/postgresql';
/** As small as a test needs it, and with nothing that only a crash of the machine could undo. */
const SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '32MB',
  max_connections: '200',
  max_wal_size: '512MB',
  autovacuum: 'off',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
};

export interface PostgresServer extends Service {
  port: number;
  folder: string;
}

/** The folder of the newest Postgres that Debian's packages have installed; `null`: none. */
export async function postgresFolder(): Promise<string | null> {
  const versions = (await readdir(PACKAGES).catch(() => [])).map(Number).filter(Number.isFinite);
  return versions.length === 0 ? null : join(PACKAGES, String(Math.max(...versions)), 'bin');
}

/**
 * Postgres over a new, empty cluster without passwords; the URL names its database `postgres`. `settings` replace those of
 * tests. `fill` makes the data folder where it is not a new cluster.
 */
export async function startPostgres(
  settings: Record<string, string> = {},
  fill?: (data: string) => Promise<unknown>,
): Promise<PostgresServer> {
  const bin = await postgresFolder();
  if (bin === null) throw new Error("postgres is missing; install Debian's package postgresql");
  const as = await asUser();
  const all = Object.entries({ ...SETTINGS, ...settings }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const service = await startProgram(
    (port, folder) => [
      ...as.command,
      join(bin, 'postgres'),
      '-D',
      join(folder, 'data'),
      '-p',
      `${port}`,
      ...all,
    ],
    async () => {},
    async (folder) => {
      const data = join(folder, 'data');
      await chmod(folder, 0o755);
      await mkdir(data, { mode: 0o700 });
      await as.own(data);
      if (fill) await fill(data);
      else
        await runAs(as, join(bin, 'initdb'), [
          ...['-D', data, '--no-sync', '--no-instructions', '--auth=trust', '--username=postgres'],
          ...['--encoding=UTF8', '--locale=C'],
        ]);
    },
    'SIGQUIT',
  );
  return { ...service, url: `postgres://postgres@127.0.0.1:${service.port}/postgres` };
}

/** The server that `TEST_POSTGRES_URL` names, or a fresh one. */
export async function sharedPostgres(): Promise<Pick<Service, 'url' | 'stop'>> {
  const url = process.env.TEST_POSTGRES_URL;
  return url ? { url, stop: async () => {} } : startPostgres();
}

export interface PostgresUser {
  /** What runs a program as the user. */
  command: string[];
  own(path: string): Promise<void>;
}

/** Postgres does not run as root: the user of its package does then. */
export async function asUser(): Promise<PostgresUser> {
  if (process.getuid?.() !== 0) return { command: [], own: async () => {} };
  const [user, group] = await Promise.all(
    ['-u', '-g'].map(async (option) => (await run('id', [option, 'postgres'])).stdout.trim()),
  );
  const setpriv = await find('setpriv', "Debian's package util-linux");
  return {
    command: [setpriv, `--reuid=${user}`, `--regid=${group}`, '--clear-groups', '--'],
    own: (path) => chown(path, Number(user), Number(group)),
  };
}

export async function runAs(as: PostgresUser, program: string, args: readonly string[]): Promise<void> {
  const [command = program, ...rest] = [...as.command, program, ...args];
  await run(command, rest, { cwd: '/' });
}
