import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { find, startProgram } from '../stores/services.ts';

/** What the example of a balancer says if no copy answers; the servers' own errors have other words. */
export const AWAY = 'The server does not answer. Please try again in a few seconds.';

/** The header in which a test gives the client's address, because all requests come from one loopback address. */
export const CLIENT_ADDRESS = 'x-test-client';

/** A real nginx with the configuration of `examples/balancer.conf` in front of the ports. */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const example = await readExample('balancer.conf');
  const [first = ''] = example.match(/^ *server \S+ .*;$/m) ?? [];
  const servers = ports.map((one) => first.replace('picpool-1:3000', `127.0.0.1:${one}`)).join('\n');
  return startNginx(example.replace(/(^ *server \S+ .*;\n)+/m, () => `${servers}\n`));
}

/** A file of `examples/`. `server`: in place of 127.0.0.1:3000. */
export async function readExample(name: string, server = '127.0.0.1:3000'): Promise<string> {
  const text = await readFile(new URL(`../../../examples/${name}`, import.meta.url), 'utf8');
  return text.replaceAll('127.0.0.1:3000', server);
}

/** A real nginx with this in its `http` block, on a separate port. */
export async function startNginx(site: string): Promise<Balancer> {
  const program = await find('nginx', "Debian's package nginx");
  return startProxy(
    (folder) => [program, '-p', folder, '-c', join(folder, 'nginx.conf')],
    async (folder, port) => {
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((name) => `${name}_temp_path ${folder}/${name};`)
        .join('\n');
      await writeFile(join(folder, 'site.conf'), site.replace('listen 80;', `listen 127.0.0.1:${port};`));
      await writeFile(
        join(folder, 'nginx.conf'),
        `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 2048; }
http { access_log off; ${temporary}
  set_real_ip_from 127.0.0.1; real_ip_header ${CLIENT_ADDRESS};
  include ${folder}/site.conf; }
`,
      );
      await mkdir(join(folder, 'logs'));
    },
  );
}

/** A real Caddy with this configuration for `img.example.com`, without TLS and on a separate port. */
export async function startCaddy(config: string): Promise<Balancer> {
  const program = await find('caddy', "Debian's package caddy");
  return startProxy(
    (folder) => [
      ...['env', `HOME=${folder}`, `XDG_DATA_HOME=${folder}`],
      ...[program, 'run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'],
    ],
    async (folder, port) => {
      const site = config.replace(/^img\.example\.com/m, `http://127.0.0.1:${port}`);
      const log = `log {\n output file ${folder}/error.log\n level ERROR\n}`;
      await writeFile(join(folder, 'Caddyfile'), `{\n admin off\n ${log}\n}\n${site}`);
    },
  );
}

export type Balancer = Awaited<ReturnType<typeof startProxy>>;

async function startProxy(
  args: (folder: string) => string[],
  prepare: (folder: string, port: number) => Promise<void>,
) {
  const how = { prepare, endWith: 'SIGTERM' } as const;
  const { port, folder, stop } = await startProgram((_port, folder) => args(folder), how);
  return {
    url: `http://127.0.0.1:${port}`,
    /** What it has logged. */
    errors: () => readFile(join(folder, 'error.log'), 'utf8'),
    stop,
  };
}
