import { strict as assert } from 'node:assert';
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  assertKept,
  type Channel,
  keepPicture,
  mainJob,
  run,
  SETTINGS,
  type Server,
  serve,
  type World,
} from './channel.ts';

/** `install.sh`, piped into a shell as the handbook says, from a server of the release, signed with a key of the test's own. */
export async function installScriptChannel({ release, scratch, version }: World): Promise<Channel> {
  const [files, prefix, data] = ['signed', 'prefix', 'prefix-data'].map((name) => join(scratch, name)) as [
    string,
    string,
    string,
  ];
  const key = join(scratch, 'release-key');
  await mkdir(files, { recursive: true });
  await mkdir(data, { recursive: true });
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
  const install = (...args: string[]) =>
    run(['sh', '-c', `curl -fsSL ${base}/install.sh | sh -s -- ${args.join(' ')} 2>&1`], { env });
  const start = () =>
    serve([join(prefix, 'bin/picpool')], { env: { ...SETTINGS, PORT: '0', DATA_DIR: data }, cwd: '/' });
  let server: Server;
  let kept: string;
  return {
    name: 'install.sh',
    needs: ['curl', 'ssh-keygen', 'sha256sum'],
    steps: {
      async install() {
        assert.match(await install(), new RegExp(`picpool ${RegExp.escape(version)} is installed`));
        assert.equal(await run([join(prefix, 'bin/picpool'), '--version']), version);
        return 'signature and sum checked';
      },
      async start() {
        server = await start();
        return 'with an empty environment';
      },
      'main job': async () => {
        kept = await keepPicture(server.url);
        return mainJob(server.url);
      },
      async upgrade() {
        const before = await readFile(join(prefix, 'share/man/man1/picpool.1'), 'utf8');
        await install();
        assert.equal(await readFile(join(prefix, 'share/man/man1/picpool.1'), 'utf8'), before);
        // The running one is not disturbed: its file was replaced, not written over.
        await assertKept(server.url, kept);
        await server.stop();
        server = await start();
        await assertKept(server.url, kept);
        return 'the same again, beside the running server';
      },
      async remove() {
        await server.stop();
        await install('--remove');
        assert.ok(!existsSync(join(prefix, 'bin/picpool')) && existsSync(join(data, 'picpool.db')));
        return 'data are kept';
      },
    },
    async close() {
      await server?.stop().catch(() => {});
      await web.stop(true);
    },
  };
}
