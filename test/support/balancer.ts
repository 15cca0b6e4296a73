import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { find, freePort, until } from './services.ts';

/** What the example of a balancer says where no copy answers; the servers' own errors have other words. */
export const AWAY = 'The server does not answer. Please try again in a few seconds.';

export interface Balancer {
  url: string;
  /** What nginx has logged. */
  errors(): Promise<string>;
  stop(): Promise<void>;
}

/** A real nginx with the configuration of `examples/balancer.conf` in front of the ports. */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const program = await find('nginx', "Debian's package nginx");
  const folder = await mkdtemp(join(tmpdir(), 'picpool-balancer-'));
  const port = await freePort();
  const example = await readFile(new URL('../../examples/balancer.conf', import.meta.url), 'utf8');
  const [first = ''] = example.match(/^ *server \S+ .*;$/m) ?? [];
  const servers = ports.map((one) => first.replace('picpool-1:3000', `127.0.0.1:${one}`)).join('\n');
  const site = example
    .replace(/(^ *server \S+ .*;\n)+/m, () => `${servers}\n`)
    .replace('listen 80;', `listen 127.0.0.1:${port};`);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join('\n');
  await writeFile(join(folder, 'site.conf'), site);
  await writeFile(
    join(folder, 'nginx.conf'),
    `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 2048; }
http { access_log off; ${temporary} include ${folder}/site.conf; }
`,
  );
  await mkdir(join(folder, 'logs'));
  const child = spawn(program, ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await until(() => accepts(port));
  return {
    url: `http://127.0.0.1:${port}`,
    errors: () => readFile(join(folder, 'error.log'), 'utf8'),
    async stop() {
      child.kill('SIGTERM');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.once('error', () => resolve(false)).once('connect', () => socket.destroy());
  });
}
