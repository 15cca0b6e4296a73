import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { openPostgres } from '../../../adapters/postgres/connection.ts';
import { createCertificates } from '../certificates.ts';
import { find, type Service, startProgram, until } from './services.ts';

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

/** The folder of the newest Postgres that Debian's packages have installed; `null`: none. */
export async function postgresFolder(): Promise<string | null> {
  const versions = (await readdir(PACKAGES).catch(() => [])).map(Number).filter(Number.isFinite);
  return versions.length === 0 ? null : join(PACKAGES, String(Math.max(...versions)), 'bin');
}

/**
 * Postgres over a new, empty cluster without passwords; the URL names its database `postgres`. `settings` replace those of
 * tests. `fill` makes the data folder.
 */
export async function startPostgres(
  settings: Record<string, string> = {},
  fill: (data: string) => Promise<unknown> = initialise,
): Promise<Service> {
  const bin = await requireBin();
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
    {
      endWith: 'SIGQUIT',
      ready: (port) => untilReady(join(bin, 'pg_isready'), port),
      async prepare(folder) {
        const data = join(folder, 'data');
        await chmod(folder, 0o755);
        await mkdir(data, { mode: 0o700 });
        await as.own(data);
        await fill(data);
      },
    },
  );
  return { ...service, url: `postgres://postgres@127.0.0.1:${service.port}/postgres` };
}

/** It takes connections before it takes statements. */
async function untilReady(program: string, port: number): Promise<void> {
  await until(() =>
    run(program, ['-q', '-h', '127.0.0.1', '-p', String(port)]).then(
      () => true,
      () => false,
    ),
  );
}

async function requireBin(): Promise<string> {
  const bin = await postgresFolder();
  if (bin === null) throw new Error("postgres is missing; install Debian's package postgresql");
  return bin;
}

/** Makes an empty cluster, whose users need no password. */
async function initialise(data: string): Promise<void> {
  await runAsUser(join(await requireBin(), 'initdb'), [
    ...['-D', data, '--no-sync', '--no-instructions', '--auth=trust', '--username=postgres'],
    ...['--encoding=UTF8', '--locale=C'],
  ]);
}

/** The server that `TEST_POSTGRES_URL` names, or a fresh one with these settings. */
export async function sharedPostgres(
  settings: Record<string, string> = {},
): Promise<Pick<Service, 'url' | 'stop'>> {
  const url = process.env.TEST_POSTGRES_URL;
  return url ? { url, stop: async () => {} } : startPostgres(settings);
}

/** Postgres does not run as root: the user of its package does then. */
export async function asUser(): Promise<{
  /** What runs a program as the user. */
  command: string[];
  own(path: string): Promise<void>;
}> {
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

async function runAsUser(program: string, args: readonly string[]): Promise<void> {
  const [command = program, ...rest] = [...(await asUser()).command, program, ...args];
  await run(command, rest, { cwd: '/' });
}

/** Postgres that also listens on 127.0.0.2, and speaks TLS on request; all roles but `postgres` and `pooler` need their password. */
export async function startTlsPostgres() {
  const certificates = await createCertificates();
  const { own } = await asUser();
  const files = {
    'server.crt': certificates.good.cert,
    'server.key': certificates.good.key,
    'pg_hba.conf': `host all postgres,pooler 127.0.0.0/8 trust\nhost all all 127.0.0.0/8 scram-sha-256\n`,
  };
  const server = await startPostgres({ ssl: 'on', listen_addresses: '127.0.0.1,127.0.0.2' }, async (data) => {
    await initialise(data);
    for (const [name, text] of Object.entries(files)) {
      await writeFile(join(data, name), text, { mode: 0o600 });
      await own(join(data, name));
    }
  });
  const connection = await openPostgres(server.url);
  await connection.ask('safe', 'CREATE ROLE pooler SUPERUSER LOGIN');
  await connection.close();
  const trusted = new URL(server.url);
  trusted.username = 'pooler';
  /** `trusted`: the server as a pooler knows it: its role needs no password. */
  return { ...server, certificates, trusted: trusted.href };
}

/** A primary that acknowledges only what its replica has on its disk, and that replica. `lossy`: it does not wait. */
export async function startPostgresPair({ lossy = false } = {}) {
  const bin = await requireBin();
  const primary = await startPostgres({ wal_level: 'replica', max_wal_senders: '5', hot_standby: 'on' });
  const replica = await startPostgres({ hot_standby: 'on' }, async (data) => {
    await runAsUser(join(bin, 'pg_basebackup'), [
      ...['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'postgres', '-D', data],
      ...['--checkpoint=fast', '--no-sync', '--write-recovery-conf', '--wal-method=stream'],
    ]);
  });
  const connection = await openPostgres(primary.url);
  if (!lossy) await connection.ask('safe', `ALTER SYSTEM SET synchronous_standby_names = '*'`);
  await connection.ask('safe', 'SELECT pg_reload_conf()');
  const replicas = `SELECT 1 FROM pg_stat_replication WHERE sync_state = '${lossy ? 'async' : 'sync'}'`;
  await until(async () => (await connection.ask('safe', replicas)).length === 1);
  await connection.close();
  return {
    /** Names both. */
    url: primary.url.replace(/\/postgres$/, `,127.0.0.1:${replica.port}/postgres`),
    primary,
    replica,
    /** Makes the replica the primary. */
    async promote() {
      await runAsUser(join(bin, 'pg_ctl'), ['promote', '-D', join(replica.folder, 'data'), '--no-wait']);
    },
    async stop() {
      await Promise.all([replica.stop(), primary.stop()]);
    },
  };
}
