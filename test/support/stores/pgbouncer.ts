import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asUser } from './postgres-server.ts';
import { find, type Service, startProgram } from './services.ts';

/** PgBouncer in transaction mode before the server of a URL: each transaction may get another of its `sessions`. */
export async function startPgBouncer(url: string, sessions = 2): Promise<Service> {
  const target = new URL(url);
  const [program, as] = await Promise.all([find('pgbouncer', "Debian's package pgbouncer"), asUser()]);
  const service = await startProgram(
    (_port, folder) => [...as.command, program, join(folder, 'pgbouncer.ini')],
    {
      async prepare(folder, port) {
        await chmod(folder, 0o755);
        await writeFile(join(folder, 'users.txt'), `"${target.username}" ""\n`);
        await writeFile(
          join(folder, 'pgbouncer.ini'),
          `[databases]
* = host=127.0.0.1 port=${target.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, 'users.txt')}
pool_mode = transaction
default_pool_size = ${sessions}
max_client_conn = 500
server_round_robin = 1
`,
        );
      },
    },
  );
  target.port = String(service.port);
  return { ...service, url: target.href };
}
