import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createCertificates } from '../certificates.ts';
import { freePort } from '../free-port.ts';
import { run } from '../run.ts';
import { command, find, startRedisServer, until } from './services.ts';

const USER = 'pic/pool';
const PASSWORD = 'pa:ss@word/%';

/** Redis that speaks TLS alone, and only with a user whose name and password a URL has to encode. */
export async function startTlsRedis() {
  const certificates = await createCertificates();
  const { key, cert } = certificates.good;
  const service = await startRedisServer(
    (port, folder) => [
      ...['--port', '0', '--tls-port', `${port}`, '--tls-auth-clients', 'no'],
      ...['--tls-cert-file', join(folder, 'cert.pem'), '--tls-key-file', join(folder, 'key.pem')],
      ...['--user', 'default', 'off', '--user', USER, 'on', `>${PASSWORD}`, '~*'],
      ...['+@all', '-@dangerous', '+info'],
    ],
    async (folder) => {
      await writeFile(join(folder, 'cert.pem'), cert);
      await writeFile(join(folder, 'key.pem'), key, { mode: 0o600 });
    },
  );
  const [user, password] = [USER, PASSWORD].map(encodeURIComponent);
  return { ...service, certificates, url: `rediss://${user}:${password}@localhost:${service.port}` };
}

async function startNode() {
  const bus = await freePort();
  const service = await startRedisServer((port) => [
    ...['--port', `${port}`, '--cluster-enabled', 'yes', '--cluster-node-timeout', '2000'],
    ...['--cluster-port', `${bus}`, '--cluster-announce-ip', '127.0.0.1', '--repl-diskless-sync-delay', '0'],
  ]);
  return { ...service, bus };
}

/** A cluster of three servers, a third of the slots on each; the URL names the first. */
export async function startRedisCluster() {
  const redisCli = await find('redis-cli', "Debian's package redis-tools");
  const nodes = await Promise.all([startNode(), startNode(), startNode()]);
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  await run([redisCli, '--cluster', 'create', ...addresses, '--cluster-yes']);
  const isWell = async ({ port }: { port: number }) =>
    (await command(port, 'CLUSTER', 'INFO')).includes('state:ok');
  await until(async () => (await Promise.all(nodes.map(isWell))).every(Boolean));
  return {
    url: `redis://${addresses[0]}?cluster=true`,
    /** The third server dies, and a replica takes its slots over. */
    async failOver() {
      const [, , old] = nodes;
      const next = await startNode();
      nodes.push(next);
      const id = (await command(old?.port ?? 0, 'CLUSTER', 'MYID')).split('\r\n')[1] ?? '';
      await command(next.port, 'CLUSTER', 'MEET', '127.0.0.1', `${old?.port}`, `${old?.bus}`);
      await until(async () => (await command(next.port, 'CLUSTER', 'REPLICATE', id)).startsWith('+OK'));
      await until(async () =>
        (await command(next.port, 'INFO', 'replication')).includes('master_link_status:up'),
      );
      await until(async () => {
        const known = nodes.map(async ({ port }) => command(port, 'CLUSTER', 'INFO'));
        return (await Promise.all(known)).every((facts) => facts.includes('known_nodes:4'));
      });
      await old?.kill();
      await command(next.port, 'CLUSTER', 'FAILOVER', 'TAKEOVER');
    },
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}

export type RedisCluster = Awaited<ReturnType<typeof startRedisCluster>>;
