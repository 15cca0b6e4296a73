import { expect, test } from 'bun:test';
import { appendFile, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pack, put, releaseName } from '../../scripts/build/archive.ts';
import { installScript } from '../../scripts/build/install-script.ts';
import { VERSION } from '../../src/version.ts';
import { absent } from '../support/absent.ts';
import { withFolder } from '../support/temporary.ts';

/** As `uname` and `process` name processors. */
const ARCHIVE = `${releaseName(`${process.platform}-${process.arch}`)}.tar.gz`;
const isLinux = process.platform === 'linux';
const SHARED = [
  'share/man/man1/picpool.1',
  'share/bash-completion/completions/picpool',
  'share/zsh/site-functions/_picpool',
  'share/fish/vendor_completions.d/picpool.fish',
];

async function ran(command: string[], env?: Record<string, string>): Promise<{ code: number; said: string }> {
  const child = Bun.spawn(command, {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(env && { env: { PATH: process.env.PATH ?? '', ...env } }),
  });
  const said = (await child.stdout.text()) + (await child.stderr.text());
  return { code: await child.exited, said };
}

interface World {
  /** Folder of the release; what is changed there is what is fetched. */
  files: string;
  prefix: string;
  /** Writes the sums, those of the archive where no others are given, and signs them with a key of that name. */
  sign(key?: string, sums?: string): Promise<void>;
  install(...args: string[]): Promise<{ code: number; said: string }>;
  /** The script, to be run in another way. */
  script: string;
}

/** A signed release of a small program, behind a server of files. */
async function withRelease(
  work: (world: World) => Promise<void>,
  program = `#!/bin/sh\necho ${VERSION}\n`,
): Promise<void> {
  await withFolder(async (folder) => {
    const [files, prefix] = [join(folder, 'release'), join(folder, 'prefix')];
    await mkdir(files);
    const tree = join(folder, ARCHIVE.slice(0, -'.tar.gz'.length));
    await put(join(tree, 'bin/picpool'), program, 0o755);
    for (const name of SHARED) await put(join(tree, name), 'shared');
    await pack(tree, join(files, ARCHIVE));
    await using server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: ({ url }) => new Response(Bun.file(join(files, new URL(url).pathname.slice(1)))),
      error: () => new Response('not found', { status: 404 }),
    });
    const sign = async (name = 'key', sums?: string) => {
      const key = join(folder, name);
      await ran(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', key]);
      const { said } = await ran(['sh', '-c', `cd '${files}' && sha256sum ${ARCHIVE}`]);
      await writeFile(join(files, 'SHA256SUMS'), sums ?? said);
      expect((await ran(['scripts/sign-release', key, files])).code).toBe(0);
    };
    await sign();
    const script = join(folder, 'install.sh');
    const given = { RELEASE_KEY: join(folder, 'key'), RELEASE_URL: server.url.href };
    await writeFile(script, await installScript('.', given));
    // As on macOS, whose own does no more than POSIX demands.
    const sed = `${Bun.which('sed')}${isLinux ? ' --posix' : ''}`;
    await put(join(folder, 'bin/sed'), `#!/bin/sh\nexec ${sed} "$@"\n`, 0o755);
    const PATH = `${join(folder, 'bin')}:${process.env.PATH}`;
    const install = (...args: string[]) =>
      ran(['sh', script, ...args], { PATH, PREFIX: prefix, HOME: folder });
    await work({ files, prefix, sign, install, script });
  });
}

const tools = absent('ssh-keygen', 'curl', 'sha256sum');

test.skipIf(tools)(
  'install.sh puts program, completions and manual below the prefix, and takes them away again',
  () =>
    withRelease(async ({ prefix, install }) => {
      const { code, said } = await install();
      expect([code, said]).toEqual([
        0,
        expect.stringContaining(`picpool ${VERSION} is installed: ${prefix}/bin/picpool`),
      ]);
      expect(await ran([join(prefix, 'bin/picpool')])).toEqual({ code: 0, said: `${VERSION}\n` });
      for (const name of SHARED) expect(await Bun.file(join(prefix, name)).text()).toBe('shared');
      expect((await readdir(prefix)).sort()).toEqual(['bin', 'share']);

      expect((await install('--remove')).code).toBe(0);
      const left = await readdir(prefix, { recursive: true, withFileTypes: true });
      expect(left.filter((one) => one.isFile())).toEqual([]);
    }),
);

test.skipIf(tools).each([
  [
    'the archive was changed',
    ({ files }: World) => appendFile(join(files, ARCHIVE), '!'),
    'is not the file that was released',
  ],
  [
    'its sum was changed, too',
    async ({ files }: World) => {
      await appendFile(join(files, ARCHIVE), '!');
      const { said } = await ran(['sh', '-c', `cd '${files}' && sha256sum ${ARCHIVE}`]);
      await writeFile(join(files, 'SHA256SUMS'), said);
    },
    'signature of the release is wrong',
  ],
  ['somebody else has signed it', ({ sign }: World) => sign('other'), 'signature of the release is wrong'],
  ['the signature is gone', ({ files }: World) => rm(join(files, 'SHA256SUMS.sig')), 'cannot be fetched'],
  [
    'its sum is not among those that are signed',
    ({ sign }: World) => sign('key', `${'0'.repeat(64)}  another.tar.gz\n`),
    'is not the file that was released',
  ],
] as [string, (world: World) => Promise<unknown>, string][])(
  'install.sh installs nothing where %s',
  (_name, tamper, why) =>
    withRelease(async (world) => {
      await tamper(world);
      const { code, said } = await world.install();
      expect([code, said]).toEqual([1, expect.stringContaining(why)]);
      expect(await readdir(world.prefix)).toEqual([]);
    }),
);

test.skipIf(tools || !isLinux)(
  'install.sh takes the archive for musl only on a machine without another loader',
  () =>
    withRelease(async ({ install, script }) => {
      await withFolder(async (root) => {
        const text = await Bun.file(script).text();
        await writeFile(script, text.replaceAll(' /lib', ` ${root}/lib`));
        await put(join(root, 'lib/ld-musl-x86_64.so.1'), '');
        expect((await install()).said).toContain('-linuxmusl-');
        await put(join(root, 'lib64/ld-linux-x86-64.so.2'), '');
        expect((await install()).code).toBe(0);
      });
    }),
);

test.skipIf(tools)('install.sh keeps the old binary if the new one does not run', () =>
  withRelease(async ({ prefix, install }) => {
    await put(join(prefix, 'bin/picpool'), 'older');
    const { code, said } = await install();
    expect([code, said]).toEqual([1, expect.stringContaining('does not run here')]);
    expect(await Bun.file(join(prefix, 'bin/picpool')).text()).toBe('older');
  }, '#!/bin/sh\necho no such library >&2\nexit 127\n'),
);

test.skipIf(tools)('install.sh installs nothing on a machine that cannot compute sums', () =>
  withRelease(async ({ prefix, sign, script }) => {
    // Those of another release are signed as well, and have none for this archive.
    await sign('key', `${'0'.repeat(64)}  another.tar.gz\n`);
    await withFolder(async (bin) => {
      const needed = 'cat curl cut gzip id ls mkdir mktemp mv rm sed sh ssh-keygen tar uname';
      for (const name of needed.split(' ')) await symlink(Bun.which(name) ?? '', join(bin, name));
      const { code, said } = await ran(['sh', script], { PATH: bin, PREFIX: prefix, HOME: bin });
      expect([code, said]).toEqual([1, expect.stringContaining('sha256sum or shasum is needed')]);
      expect(await readdir(prefix).catch(() => [])).toEqual([]);
    });
  }),
);

test.skipIf(tools || absent('setsid'))('install.sh leaves nothing behind when a signal ends it', () =>
  withRelease(async ({ prefix, script }) => {
    const asked = Promise.withResolvers<void>();
    await using silent = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      async fetch() {
        asked.resolve();
        await Bun.sleep(60_000);
        return new Response();
      },
    });
    const env = { PATH: process.env.PATH ?? '', PREFIX: prefix, PICPOOL_RELEASE: silent.url.href };
    const child = Bun.spawn(['setsid', 'sh', script], { env, stdio: ['ignore', 'ignore', 'ignore'] });
    await asked.promise;
    // To all of them, as Ctrl-C does.
    process.kill(-child.pid, 'SIGTERM');
    await child.exited;
    expect(await readdir(prefix)).toEqual([]);
  }),
);
