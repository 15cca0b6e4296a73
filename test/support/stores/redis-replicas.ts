import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { command, find, startProgram, startRedisServer, until } from './services.ts';

/** A master with a replica that follows it. */
export async function startReplicatedRedis() {
  const soon = ['--repl-diskless-sync-delay', '0'];
  const master = await startRedisServer((port) => ['--port', `${port}`, ...soon]);
  const replica = await startRedisServer((port) => [
    ...['--port', `${port}`, '--replicaof', '127.0.0.1', `${master.port}`, ...soon],
  ]);
  await until(async () =>
    (await command(replica.port, 'INFO', 'replication')).includes('master_link_status:up'),
  );
  return {
    url: `redis://127.0.0.1:${master.port}`,
    master,
    replica,
    async stop() {
      await Promise.all([master.stop(), replica.stop()]);
    },
  };
}

/** A sentinel over a master and a replica, which takes it for dead after half a second. The URL names one more, which is away. */
export async function startSentinel() {
  const servers = await startReplicatedRedis();
  const program = await find('redis-server', "Debian's package redis-server");
  const config = `sentinel monitor main 127.0.0.1 ${servers.master.port} 1
sentinel down-after-milliseconds main 1500
sentinel failover-timeout main 3000
`;
  const sentinel = await startProgram(
    (port, folder) => [
      ...[program, join(folder, 'sentinel.conf'), '--sentinel'],
      ...['--port', `${port}`, '--bind', '127.0.0.1'],
    ],
    { prepare: (folder) => writeFile(join(folder, 'sentinel.conf'), config) },
  );
  await until(async () =>
    /num-slaves\r\n\$1\r\n1/.test(await command(sentinel.port, 'SENTINEL', 'MASTER', 'main')),
  );
  return {
    ...servers,
    url: `redis://127.0.0.1:${await freePort()},127.0.0.1:${sentinel.port}?sentinel=main`,
    async stop() {
      await sentinel.stop();
      await servers.stop();
    },
  };
}
