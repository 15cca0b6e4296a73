import { strict as assert } from 'node:assert';
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../../test/support/run.ts';
import { assertKept, type Channel, SETTINGS, type Server, serve, type World } from './channel.ts';

export interface SignedRelease {
  /** Runs `install.sh`, piped into a shell as the handbook says; answers what it has said. */
  install(...args: string[]): Promise<string>;
  /** What it has installed. */
  binary: string;
  stop(): Promise<void>;
}

/** A server of the release, signed with a key of the test's own, from which `install.sh` installs into `prefix`. */
export async function serveSigned(
  { release, scratch }: Pick<World, 'release' | 'scratch'>,
  prefix: string,
): Promise<SignedRelease> {
  const files = `${prefix}-signed`;
  const key = `${prefix}-key`;
  await mkdir(files, { recursive: true });
  await run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', key]);
  await run([
    'sh',
    '-c',
    `cp '${release}/install.sh' '${release}/SHA256SUMS' '${release}'/*.tar.gz '${files}'`,
  ]);
  await run(['scripts/sign-release', key, files]);
  const web = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url }) => new Response(Bun.file(join(files, new URL(url).pathname))),
  });
  const base = web.url.href.replace(/\/$/, '');
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: scratch,
    PREFIX: prefix,
    PICPOOL_KEYS: `${key}.pub`,
    PICPOOL_RELEASE: base,
  };
  return {
    install: (...args) =>
      run(['sh', '-c', `curl -fsSL ${base}/install.sh | sh -s -- ${args.join(' ')} 2>&1`], { env }),
    binary: join(prefix, 'bin/picpool'),
    stop: () => web.stop(true),
  };
}

export async function installScriptChannel(world: World): Promise<Channel> {
  const [prefix, data] = [join(world.scratch, 'prefix'), join(world.scratch, 'prefix-data')];
  await mkdir(data, { recursive: true });
  const { install, binary, stop } = await serveSigned(world, prefix);
  const start = () => serve([binary], { env: { ...SETTINGS, PORT: '0', DATA_DIR: data }, cwd: '/' });
  let server: Server;
  return {
    name: 'install.sh',
    needs: ['curl', 'ssh-keygen', 'sha256sum'],
    url: () => server.url,
    steps: {
      async install() {
        assert.match(await install(), new RegExp(`picpool ${RegExp.escape(world.version)} is installed`));
        assert.equal(await run([binary, '--version']), world.version);
        return 'signature and sum checked';
      },
      async start() {
        server = await start();
        return 'with an empty environment';
      },
      async upgrade(kept) {
        const before = await readFile(join(prefix, 'share/man/man1/picpool.1'), 'utf8');
        await install();
        assert.equal(await readFile(join(prefix, 'share/man/man1/picpool.1'), 'utf8'), before);
        // The running one is not disturbed: its file was replaced, not written over.
        await assertKept(server.url, kept);
        await server.stop();
        server = await start();
        return 'the same again, beside the running server';
      },
      async remove() {
        await server.stop();
        await install('--remove');
        assert.ok(!existsSync(binary) && existsSync(join(data, 'picpool.db')));
        return 'data are kept';
      },
    },
    async close() {
      await server?.stop().catch(() => {});
      await stop();
    },
  };
}
