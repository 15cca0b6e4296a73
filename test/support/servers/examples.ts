import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Balancer, readExample, startBalancer, startCaddy, startNginx } from './balancer.ts';

async function startCache(server: string): Promise<Balancer> {
  const folder = await mkdtemp(join(tmpdir(), 'picpool-cache-'));
  // The workers of nginx are another user's if root starts it.
  await chmod(folder, 0o755);
  const example = await readExample('nginx-cache.conf', server);
  const cache = await startNginx(example.replace('/var/cache/nginx/picpool', join(folder, 'kept')));
  return {
    ...cache,
    async stop() {
      await cache.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Every configuration of a reverse proxy in `examples/`, with the real program, and how to start it for a server at `HOST:PORT`. */
export const EXAMPLES = {
  'nginx.conf': {
    program: 'nginx',
    start: async (server: string) => startNginx(await readExample('nginx.conf', server)),
  },
  'nginx-cache.conf': { program: 'nginx', start: startCache },
  'balancer.conf': {
    program: 'nginx',
    start: (server: string) => startBalancer([Number(server.split(':').at(-1))]),
  },
  Caddyfile: {
    program: 'caddy',
    start: async (server: string) => startCaddy(await readExample('Caddyfile', server)),
  },
};

/** Starts the example of nginx with the server below `/pics/`, as `docs/deployment.md` describes. */
export async function startBelowPath(server: string): Promise<Balancer> {
  const example = (await readExample('nginx.conf', server)).replace(
    /location \/ \{\s*proxy_pass http:\/\/picpool;/,
    'location /pics/ {\n        proxy_pass http://picpool/;',
  );
  return startNginx(example);
}
