import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cliCommand, cliEnvironment } from './cli.ts';
import { privatePhoto } from './images.ts';
import { startProxyWorld } from './proxy-world.ts';
import { type ServerProcess, startServer } from './server-process.ts';

const ROOT = new URL('../..', import.meta.url).pathname;

/** What the README leaves to its reader: a server, a program on the PATH, lists, pictures, an internet. */
export interface ReadmeWorld {
  /** The environment of the commands. */
  env: Record<string, string>;
  /** Starts the server with a command of the README. */
  start(command: string): Promise<null>;
  close(): Promise<void>;
}

/**
 * Makes the folder `here` with the files that the commands name. curl finds localhost:3000 at the port that the server
 * got, and example.com on this machine, so that the commands are run as they are written.
 */
export async function openReadmeWorld(folder: string): Promise<ReadmeWorld> {
  const world = await startProxyWorld();
  const list = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    tls: world.certificates.good,
    fetch: () => new Response(world.working.filter((one) => one.startsWith('socks5')).join('\n')),
  });
  const [here, bin, data] = ['here', 'bin', 'data'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [here, bin, data]) await mkdir(path);
  await writeFile(join(bin, 'picpool'), `#!/bin/sh\nexec ${cliCommand(['"$@"']).join(' ')}\n`);
  await chmod(join(bin, 'picpool'), 0o755);
  await writeFile(join(here, 'IMG_2041.jpg'), await privatePhoto('jpeg', 6, [1600, 1200]));
  for (const name of ['one.png', 'two.png']) await writeFile(join(here, name), await privatePhoto('png'));

  const settings = { ...world.env, PROXY_CHECK_TIMEOUT: '2s', DATA_DIR: data, HOST: '127.0.0.1', PORT: '0' };
  const env = cliEnvironment({ ...settings, CURL_HOME: folder });
  env.PATH = `${bin}:${env.PATH}`;
  let server: ServerProcess | undefined;
  return {
    env,
    async start(command) {
      server = await startServer(['bash', '-c', `cd '${ROOT}' && exec ${command}`], {
        ...settings,
        PROXY_REFRESH_ON_START: 'true',
      });
      env.PICPOOL_URL = server.url;
      const moved = {
        'localhost:3000': server.url,
        'example.com:80': world.page,
        'example.com:443': list.url.href,
      };
      const lines = Object.entries(moved).map(
        ([name, url]) => `connect-to = "${name}:127.0.0.1:${new URL(url).port}"`,
      );
      await writeFile(
        join(folder, '.curlrc'),
        ['fail-with-body', `cacert = "${world.env.PROXY_JUDGE_CA}"`, ...lines, ''].join('\n'),
      );
      return null;
    },
    async close() {
      await server?.stop();
      await list.stop(true);
      await world.stop();
    },
  };
}
