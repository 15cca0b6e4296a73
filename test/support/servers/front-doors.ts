import { chmod } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { readExample, startCaddy, startNginx } from './balancer.ts';
import { LIGHT, startServer } from './server-process.ts';

/** A way in which visitors reach the server, with its settings. */
export interface FrontDoor {
  name: string;
  /** Whether uploaders may delete by address. */
  byAddress: boolean;
  /** Where visitors come from who pretend to be others. */
  stranger?: string;
  open(folder: string): Promise<OpenDoor>;
}

export type OpenDoor = Awaited<ReturnType<typeof opened>>;

/** A proxy that has an address of its own, as on another machine. */
export const PROXY = '127.0.0.9';
const QUIET = { PROXY_JUDGES: 'http://127.0.0.1:9/', ...LIGHT };

type Stoppable = { stop(): Promise<unknown> };

async function opened(url: string, parts: readonly Stoppable[]) {
  const { hostname, port } = new URL(url);
  return {
    /** Where visitors connect. */
    hostname: hostname.replace(/[[\]]/g, ''),
    port: Number(port),
    /** Ends the parts, the outermost first. */
    async stop() {
      for (const part of parts) await part.stop();
    },
  };
}

function direct(name: string, env: Record<string, string>): FrontDoor {
  return {
    name,
    byAddress: true,
    async open() {
      const server = await startServer('bun', { ...QUIET, ...env });
      return opened(server.url, [server]);
    },
  };
}

/** `site`: what the proxy is told, given where the server is. */
function behind(
  name: string,
  start: (site: string) => Promise<Stoppable & { url: string }>,
  site: (server: string) => Promise<string>,
  env: Record<string, string>,
  byAddress = true,
): FrontDoor {
  return {
    name,
    byAddress,
    async open(folder) {
      const port = await freePort();
      const path = join(folder, 'http.sock');
      const isSocket = env.HOST === 'unix:';
      const own = isSocket ? { HOST: `unix:${path}` } : { HOST: '127.0.0.1', PORT: String(port) };
      const server = await startServer('bun', { ...QUIET, ...env, ...own });
      // Here others than the server's user may come in; elsewhere its group may.
      if (isSocket) await Promise.all([chmod(folder, 0o711), chmod(path, 0o666)]);
      const proxy = await start(await site(isSocket ? `unix:${path}` : `127.0.0.1:${port}`));
      return opened(proxy.url, [proxy, server]);
    },
  };
}

const nginx = (server: string) => readExample('nginx.conf', server);
const caddy = (server: string) => readExample('Caddyfile', server);
/** As in compose.yaml, the balancer is one machine among others in a network. */
const balancer = async (server: string) =>
  (await readExample('balancer.conf'))
    .replace(/(^ *server \S+ .*;\n)+/m, `server ${server};\n`)
    .replace('listen 80;', `listen 80;\nproxy_bind ${PROXY};`);
/** Adds the address of who connects, a visitor or an outer proxy, to what that one wrote. */
const adding = (site: (server: string) => Promise<string>) => async (server: string) =>
  (await site(server)).replaceAll(
    'X-Forwarded-For $remote_addr',
    'X-Forwarded-For $proxy_add_x_forwarded_for',
  );

async function startTwoHops(site: string) {
  const second = await startNginx(site);
  const outer = (await nginx(new URL(second.url).host)).replace(
    'listen 80;',
    `listen 80;\nproxy_bind ${PROXY};`,
  );
  const first = await startNginx(outer);
  return { url: first.url, stop: () => first.stop().then(() => second.stop()) };
}

/** Passes on bytes, and nothing about who sends them. */
function portForwarder(name: string, env: Record<string, string>): FrontDoor {
  return {
    name,
    byAddress: false,
    async open() {
      const server = await startServer('bun', { ...QUIET, HOST: '0.0.0.0', ...env });
      const target = Number(new URL(server.url).port);
      const forwarder = createServer((visitor) => {
        const there = connect(target, '127.0.0.1');
        visitor.on('error', () => there.destroy());
        there.on('error', () => visitor.destroy());
        visitor.pipe(there).pipe(visitor);
      });
      const port = await freePort();
      await new Promise<void>((resolve) => forwarder.listen(port, '127.0.0.1', resolve));
      const stop = () => new Promise<void>((resolve) => forwarder.close(() => resolve()));
      return opened(`http://127.0.0.1:${port}`, [{ stop }, server]);
    },
  };
}

/** The setups that people use, with the real programs. */
export const FRONT_DOORS: readonly FrontDoor[] = [
  direct('direct, IPv4', { HOST: '0.0.0.0' }),
  direct('direct, IPv6 and IPv4', { HOST: '::' }),
  behind('nginx on a unix socket', startNginx, nginx, { HOST: 'unix:' }),
  behind('nginx of the examples', startNginx, nginx, { TRUSTED_PROXIES: '127.0.0.1' }),
  behind('Caddy of the examples', startCaddy, caddy, { TRUSTED_PROXIES: '127.0.0.1' }),
  behind('balancer of the examples', startNginx, balancer, { TRUSTED_PROXIES: PROXY }),
  {
    ...behind('a whole trusted network, and a stranger in it', startNginx, adding(balancer), {
      TRUSTED_PROXIES: '127.0.0.8/30',
    }),
    stranger: '127.0.0.10',
  },
  behind('two proxies, both named', startTwoHops, adding(nginx), { TRUSTED_PROXIES: `127.0.0.1,${PROXY}` }),
  behind('two proxies, counted', startTwoHops, adding(nginx), {
    TRUSTED_PROXIES: `127.0.0.1,${PROXY}`,
    TRUSTED_HOPS: '2',
  }),
  behind('a proxy that no setting names', startNginx, nginx, {}, false),
  portForwarder('a port forwarder without headers, to a container', { container: 'podman' }),
];
