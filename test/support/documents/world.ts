import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startProxyWorld } from '../farm/proxy-world.ts';
import { freePort } from '../free-port.ts';
import { privatePhoto } from '../images/images.ts';
import { json } from '../json.ts';
import { cliCommand, cliEnvironment } from '../servers/cli.ts';
import { type ServerProcess, startServer } from '../servers/server-process.ts';
import { until } from '../stores/services.ts';

/** The one that the README gives the gateway. */
const GATEWAY_PORT = '8899';

const ROOT = new URL('../../..', import.meta.url).pathname;

/**
 * Makes the folder `here` with the files that the commands name. picpool and curl find localhost:3000 at the port that the server
 * got, and example.com on this machine, so that the commands are run as they are written.
 */
export async function openReadmeWorld(folder: string) {
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
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's.
  const args = '"${@/#http:\\/\\/localhost:3000/$PICPOOL_URL}"';
  await writeFile(join(bin, 'picpool'), `#!/bin/bash\nexec ${cliCommand([args]).join(' ')}\n`);
  await chmod(join(bin, 'picpool'), 0o755);
  await writeFile(join(here, 'IMG_2041.jpg'), await privatePhoto('jpeg', 6, [1600, 1200]));
  await writeFile(join(here, 'my-proxies.txt'), world.working.join('\n'));
  for (const name of ['one.png', 'two.png']) await writeFile(join(here, name), await privatePhoto('png'));

  const settings = { ...world.env, PROXY_CHECK_TIMEOUT: '2s', DATA_DIR: data, HOST: '127.0.0.1', PORT: '0' };
  const env = cliEnvironment({ ...settings, CURL_HOME: folder });
  env.PATH = `${bin}:${env.PATH}`;
  let server: ServerProcess | undefined;
  const ports = { [GATEWAY_PORT]: String(await freePort('127.0.0.1')) };
  return {
    /** The environment of the commands. */
    env,
    /** Ports that commands name, and the free ones that stand for them here. */
    ports,
    /** Starts the server with a command of the README, and waits until its first refresh has filled pool and gateway. */
    async start(command: string) {
      const here = command.replace(GATEWAY_PORT, ports[GATEWAY_PORT]);
      server = await startServer(['bash', '-c', `cd '${ROOT}' && ${here}`], {
        ...settings,
        PROXY_REFRESH_ON_START: 'true',
        // The page behind the gateway is on this machine.
        GATEWAY_PORTS: 'any',
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
      const { url } = server;
      await until(async () => {
        const { job } = await json<{ job: { state: string } }>(await fetch(`${url}/api/refresh`));
        return job.state === 'done';
      });
      // The gateway knows half a second later.
      const proxy = `http://127.0.0.1:${ports[GATEWAY_PORT]}`;
      await until(async () => (await fetch(world.page, { proxy }).catch(() => null))?.ok === true);
      return null;
    },
    async close() {
      await server?.stop();
      await list.stop(true);
      await world.stop();
    },
  };
}

/** What the README leaves to its reader: a server, a program on the PATH, lists, pictures, an internet. */
export type ReadmeWorld = Awaited<ReturnType<typeof openReadmeWorld>>;
